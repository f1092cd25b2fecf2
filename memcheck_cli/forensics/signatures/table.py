"""All signatures."""

from __future__ import annotations

from memcheck_cli.forensics.signatures.alarms import ALARMS
from memcheck_cli.forensics.signatures.courses import COURSES
from memcheck_cli.forensics.signatures.leaks import LEAKS
from memcheck_cli.forensics.signatures.model import Signature
from memcheck_cli.forensics.signatures.overcounts import OVERCOUNTS
from memcheck_cli.forensics.signatures.silent import SILENT
from memcheck_cli.forensics.signatures.slots import SLOTS

SIGNATURES: tuple[Signature, ...] = LEAKS + OVERCOUNTS + SLOTS + ALARMS + COURSES + SILENT

BY_ID = {signature.id: signature for signature in SIGNATURES}
BY_KIND = {signature.kind: signature for signature in SIGNATURES if signature.kind is not None}

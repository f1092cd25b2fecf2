"""All signatures."""

from __future__ import annotations

from memcheck_cli.forensics.signatures.alarms import ALARMS
from memcheck_cli.forensics.signatures.courses import COURSES
from memcheck_cli.forensics.signatures.leaks import LEAKS
from memcheck_cli.forensics.signatures.model import Signature
from memcheck_cli.forensics.signatures.overcounts import OVERCOUNTS
from memcheck_cli.forensics.signatures.silent import SILENT
from memcheck_cli.forensics.signatures.slots import SLOTS

GROUPS: tuple[tuple[str, tuple[Signature, ...]], ...] = (
    ("Tokens that nobody owns", LEAKS),
    ("Tokens that are owned twice, and counters that are wrong", OVERCOUNTS),
    ("Pools that count slots", SLOTS),
    ("Known false alarms, and offsets from the start", ALARMS),
    ("How a break goes on, and which ranks see it", COURSES),
    ("What no sum shows", SILENT),
)

SIGNATURES: tuple[Signature, ...] = tuple(signature for _, group in GROUPS for signature in group)

BY_ID = {signature.id: signature for signature in SIGNATURES}
BY_KIND = {signature.kind: signature for signature in SIGNATURES if signature.kind is not None}

"""Signatures: patterns that earlier reports have shown, as data, and which of them hold."""

from memcheck_cli.forensics.signatures.model import CAPACITY, CORRUPTION, HARMLESS, Fact, Hit, Signature
from memcheck_cli.forensics.signatures.table import BY_ID, BY_KIND, GROUPS, SIGNATURES

__all__ = ["BY_ID", "BY_KIND", "CAPACITY", "CORRUPTION", "GROUPS", "HARMLESS", "SIGNATURES", "Fact", "Hit", "Signature"]

"""The words of the checker's sums."""

from __future__ import annotations

TERMS = ("available", "evictable", "protected", "session_held", "uncached")
"""The accounting terms of a pool, in the order of the current busy line. Unit: tokens (slots for mamba and req)."""

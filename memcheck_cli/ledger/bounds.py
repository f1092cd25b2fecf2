"""How much of one source the ledger tells apart. What goes beyond is counted together, and a finding says so.

A log of 512 hosts with 8 ranks each, whose server was started twice, stays below.
"""

from __future__ import annotations

RUNS = 10_000
"""Server starts; later ones count with the last."""

PROCESSES = 10_000
"""Writers that a collector names. Of further ones only the records count, in the joint stream."""

STREAMS = 10_000
"""Ranks of processes in runs. The records of further ones go to the joint stream."""

POOLS = 64
"""Pool labels of one stream. Further ones are one pool."""

PEERS = 512
"""Tensor-parallel ranks that are compared with each other."""

BURSTS = 512
"""Streams that may be ring dumps at the same time. The next ones are none."""

ASSERTIONS = 1000
"""Different assertions of one stream that are kept."""

NOTES = 10_000
"""Reports without numbers that are kept."""

LOOKS = 2_000_000
"""Streams and stretches of them that are looked at to find the record that an assertion or a copy repeats."""

FURTHER_RANKS = "further ranks"
"""Stands for the rank of the joint stream, and for the process of what goes there."""

FURTHER_POOLS = "further pools"

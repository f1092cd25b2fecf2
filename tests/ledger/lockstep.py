"""Made-up logs of ranks that print the same numbers, until one of them does not."""

from __future__ import annotations

import random

from made_logs import busy, prefix


def lockstep_log(rng: random.Random) -> bytes:
    """Ranks in lock step, a few lines apart; some part, some lose a line, some come late, one may leak."""
    ranks = [f"TP{i}" for i in range(rng.randint(2, 4))]
    if rng.random() < 0.3:
        ranks = [f"DP{group} TP{i}" for group in range(2) for i in range(2)]
    checks, hybrid = rng.randint(50, 500), rng.random() < 0.5
    parts = rng.choice([checks, checks, rng.randrange(checks)])
    leaks = rng.choice([checks, rng.randrange(checks)])
    odd, loser, late = rng.choice(ranks), rng.choice(ranks), ranks[-1]
    lost = rng.choice([-1, -1, rng.randrange(checks)])
    comes = rng.choice([0, 0, rng.randrange(checks)])
    alike = rng.random() < 0.1
    lines: dict[str, list[list[str]]] = {rank: [] for rank in ranks}
    for n in range(checks):
        used = 5 if alike else rng.randrange(400)
        clock = f"08:{n // 300 % 60:02}:{n // 5 % 60:02}"
        for rank in ranks:
            if rank == late and n < comes:
                continue
            mine = used + (rank == odd and n >= parts)
            check = [
                busy(
                    "full", 1000, 1000 - mine, 0, 0, 0, mine - 16 * (rank == odd and n >= leaks), rank=rank, clock=clock
                )
            ]
            if hybrid:
                check.append(busy("swa", 500, 500 - mine % 100, 0, 0, 0, mine % 100, rank=rank, clock=clock))
            lines[rank].append(check[1:] if (rank, n) == (loser, lost) else check)
    apart = rng.choice([0, 0, 1, 3, 12])
    place = dict.fromkeys(ranks, 0)
    text: list[str] = []
    while left := [rank for rank in ranks if place[rank] < len(lines[rank])]:
        first = min(place[rank] for rank in left)
        rank = rng.choice([rank for rank in left if place[rank] <= first + apart])
        text += lines[rank][place[rank]]
        place[rank] += 1
        if rng.random() < 0.01:
            text.append(
                rng.choice(["noise", "x!", prefix(rank) + "Scheduler hit an exception: Traceback (most recent"])
            )
        if rng.random() < 0.001:
            text.append(prefix("") + "server_args=ServerArgs(model_path='m', tp_size=2, page_size=16)")
    return ("\n".join(text) + "\n").encode()

"""Signatures of pools that count slots: requests and Mamba states."""

from __future__ import annotations

from memcheck_cli.forensics.signatures import lasting, nearby, numbers, setting
from memcheck_cli.forensics.signatures.model import CAPACITY, CORRUPTION, HARMLESS, REPO, Signature

SLOTS: tuple[Signature, ...] = (
    Signature(
        id="batch-lost",
        title="Request slots and tokens are lost together",
        seen="the request pool and a token pool break in the same idle check, often by as many slots as requests ran",
        points_to="points to a whole batch lost between the last busy step and idle: {amount} and the tokens they held",
        against="A number of slots that differs from the last running batch.",
        harm=CAPACITY,
        separate="Pipeline parallelism off, --disable-overlap-schedule, mixed chunk off, one at a time.",
        strength=84,
        needs=(numbers.leak, numbers.pool_is("req"), numbers.sibling_lost_tokens),
        firmer=((nearby.running_equals, 4), (setting.pipeline, 1), (setting.flag_on("enable_mixed_chunk"), 1)),
        fix="Pull 10871 for mixed chunk.",
        urls=(f"{REPO}/pull/10871", "https://github.com/infinigence/Semi-PD/issues/17"),
    ),
    Signature(
        id="request-slot-lost",
        title="Only request slots are lost",
        seen="the request pool breaks and the token pools do not",
        points_to="points to {amount} kept by a request that gave its tokens back: its row of the token table was not "
        "released",
        against="A disaggregated decode server, which compares with a size it does not print.",
        harm=CAPACITY,
        separate="Mixed chunk off; aborts in every state of a request.",
        strength=62,
        needs=(numbers.leak, numbers.pool_is("req")),
        unless=(numbers.sibling_lost_tokens,),
        fix="Pull 10871 for a request that ends in its first prefill.",
        urls=(f"{REPO}/pull/10871",),
    ),
    Signature(
        id="request-slot-twice",
        title="More request slots are free than the pool has",
        seen="the request pool is above its total",
        points_to="points to {amount} released twice: two requests will share a row of the token table",
        against="A decode server, whose pool is larger by its pre-allocated slots.",
        harm=CORRUPTION,
        separate="Aborts and retractions off.",
        strength=62,
        needs=(numbers.overcount, numbers.pool_is("req")),
    ),
    Signature(
        id="mamba-slot-lost",
        title="A Mamba slot is lost, the full pool balances",
        seen="the Mamba pool is short by a few slots, often with leaked_mamba_pages printed",
        points_to="points to {amount} taken for a request that was not admitted, or handed over and forgotten",
        against="Copy-on-write slots of queued requests: the idle check of some releases did not count them, which "
        "is a false alarm.",
        harm=CAPACITY,
        separate="--mamba-scheduler-strategy without extra buffers; radix cache off; no sessions.",
        strength=73,
        needs=(numbers.mamba, numbers.leak),
        unless=(numbers.everything_missing,),
        firmer=((numbers.other_balances("full"), 2), (lasting.printed_set, 2), (setting.speculation, 0)),
        weaker=((lasting.equals_limit, 12),),
        fix="Pulls 21404 and 16067 for requests that were not admitted, 23496 for closed sessions, 20185 for the false "
        "alarm.",
        urls=(f"{REPO}/pull/16067", f"{REPO}/pull/21404", f"{REPO}/pull/20185", f"{REPO}/pull/23496"),
    ),
    Signature(
        id="mamba-slot-twice",
        title="A Mamba slot was returned twice",
        seen="the Mamba pool is above its total",
        points_to="points to {amount} returned twice: two requests will share a state",
        against="Nothing known.",
        harm=CORRUPTION,
        separate="`mamba usage` in the Decode lines falls below zero step by step and dates each return.",
        strength=74,
        needs=(numbers.mamba, numbers.overcount),
        firmer=((lasting.grows_alike, 2), (numbers.other_balances("full"), 1)),
        urls=(f"{REPO}/pull/23496",),
    ),
    Signature(
        id="mamba-withheld",
        title="As many Mamba slots are missing as a limit withholds",
        seen="the whole Mamba pool, or as many slots as a limit names, while the full pool is untouched",
        points_to="points to slots that are withheld or were never released at start ({amount}), not to a leak",
        against="A number that grows.",
        harm=HARMLESS,
        separate="Another limit: if the number follows it, nothing is lost.",
        strength=75,
        needs=(numbers.mamba, numbers.leak, lasting.whole_or_limit),
        firmer=((numbers.other_balances("full"), 1), (lasting.before_any_request, 2)),
        weaker=((lasting.grows_alike, 20),),
    ),
)

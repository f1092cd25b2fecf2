"""Known false alarms: the check is wrong, or was read wrongly, and nothing is lost."""

from __future__ import annotations

from memcheck_cli.forensics.signatures import lasting, nearby, numbers, setting
from memcheck_cli.forensics.signatures.model import CAPACITY, HARMLESS, REPO, Signature
from memcheck_cli.forensics.signatures.proofs import either

ALARMS: tuple[Signature, ...] = (
    Signature(
        id="constant-offset",
        title="The same difference from the first check on",
        seen="the first check breaks already and the difference stays, often a number of the start-up lines",
        points_to="points to a term that the equation lacks (a reserved page, a cap, a tier of its own), not to a "
        "leak: {amount} from the first check on",
        against="A difference that grows, or a check before it that balances.",
        harm=HARMLESS,
        separate="The option that sets the constant: if the difference follows it, nothing is lost.",
        strength=62,
        needs=(either(numbers.leak, numbers.overcount), lasting.from_the_first_check, lasting.does_not_grow),
        firmer=((lasting.equals_constant, 22), (lasting.stays, 2)),
        urls=(f"{REPO}/issues/12432",),
    ),
    Signature(
        id="boot-owner",
        title="Missing before the first request",
        seen="the first idle report stands before any batch line",
        points_to="points to an owner from the start of the server: {amount} handed out while it booted (warm-up, "
        "profiling, a padding page)",
        against="Requests whose lines are missing in this log.",
        harm=CAPACITY,
        separate="Start twice: the same number without any request says that no request has to do with it.",
        strength=78,
        needs=(numbers.leak, lasting.before_any_request),
        firmer=((lasting.printed_set, 1),),
    ),
    Signature(
        id="session-lent-twice",
        title="A session's tokens count twice while its request runs",
        seen="above the total while a session's request runs, gone when it is idle",
        points_to="points to a false alarm: what a session lent to its running request, {amount}, counts in "
        "session_held and in uncached",
        against="The same difference when no request of a session runs.",
        harm=HARMLESS,
        separate="An idle moment: if the idle check passes, nothing is owned twice.",
        strength=77,
        needs=(numbers.overcount, numbers.busy, numbers.token_pool, numbers.held_and_running),
        unless=(numbers.uncached_doubled,),
        firmer=((lasting.gone_again, 3), (nearby.event_near("retract", "abort"), 1)),
        weaker=((setting.from_release("0.5.22"), 15),),
        fix="Pulls 22213 and 22753.",
        urls=(f"{REPO}/pull/22213", f"{REPO}/pull/22753"),
    ),
    Signature(
        id="parked-chunk",
        title="A request parked between two chunks is not counted",
        seen="before 0.5.20, as much is missing as a chunk of a long prompt holds",
        points_to="points to a false alarm of releases before 0.5.20: a request between two chunks of its prefill is "
        "in neither batch, which leaves {amount} of it uncounted",
        against="A loss that stays when the prompt is through.",
        harm=HARMLESS,
        separate="0.5.20 or later, which counts it; or --chunked-prefill-size -1.",
        strength=76,
        needs=(
            numbers.leak,
            numbers.busy,
            numbers.token_pool,
            setting.before_release("0.5.20"),
            nearby.chunked,
            nearby.matches_prefill,
        ),
        urls=(f"{REPO}/pull/13704",),
    ),
    Signature(
        id="idle-batch-uncounted",
        title="A rank with an idle batch does not count its running one",
        seen="before 0.5.11 with DP attention: all that was uncached before is missing",
        points_to="points to a false alarm of releases before 0.5.11: this rank ran an idle batch to keep step, and "
        "only the last batch is counted, which leaves out {amount} of its running requests",
        against="A loss that stays when the rank decodes again.",
        harm=HARMLESS,
        separate="0.5.11 or later, which counts the running batch as well.",
        strength=77,
        needs=(
            numbers.leak,
            numbers.busy,
            numbers.token_pool,
            setting.before_release("0.5.11"),
            setting.flag_on("enable_dp_attention"),
            nearby.matches_uncached_before,
        ),
        firmer=((setting.speculation, 1), (numbers.term_is("uncached", 0), 1)),
        urls=(f"{REPO}/pull/13704",),
    ),
    Signature(
        id="missing-term",
        title="A printed term that the equation leaves out closes the gap",
        seen="one signed sum of extra terms closes the gap of every record that does not balance",
        points_to="points to a term missing in the equation, not to a leak: the printed numbers balance with it",
        against="A record that stays off with the term.",
        harm=HARMLESS,
        separate="The fork's own equation.",
        strength=83,
        kind="gap-explained-by-extra-terms",
    ),
    Signature(
        id="unprinted-term",
        title="session_held is summed and not printed",
        seen="a steady deficit in the text of 0.5.6 to 0.5.10 that the server lets pass",
        points_to="points to 0.5.10, which sums session_held without printing it: what is missing is what sessions "
        "hold",
        against="The server's assertion behind the record, or a release before 0.5.10.",
        harm=HARMLESS,
        separate="Sessions off: the deficit must vanish.",
        strength=80,
        kind="unprinted-term",
    ),
    Signature(
        id="tolerated-slack",
        title="The server forgives the imbalance",
        seen="dcp_physical_page_slack_allowed=True behind a record that does not balance",
        points_to="points to pages that decode context parallelism rounds up: the server tolerates it, and it is no "
        "leak",
        against="An imbalance without the mark.",
        harm=HARMLESS,
        separate="Decode context parallelism off.",
        strength=80,
        kind="tolerated-imbalance",
    ),
    Signature(
        id="watchdog-numbers",
        title="Pool numbers of a watchdog dump",
        seen="pool texts behind `debug info`, not behind a leak report",
        points_to="points to a hang, not to a leak: a watchdog prints the pools while requests run, with uncached=0, "
        "so they need not balance",
        against="A leak report of its own.",
        harm=HARMLESS,
        separate="The stack dumps beside it.",
        strength=80,
        kind="watchdog-numbers",
    ),
)

"""What the name of a source says about where it comes from: which job of a CI run, which step.

GitHub's archive of a run's logs holds `0_job name.txt`, the whole log of a job, and `job name/1_step name.txt`, the
same again step by step. `gh run download` makes a directory for every artifact. Anything else is named by the
directory or archive it stands in.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

JOB_LOG, STEP_LOG, FILE = "job-log", "step-log", "file"

_NUMBERED = re.compile(r"-?[0-9]{1,6}_(.{1,250})\.txt(?:\.(?:gz|xz|bz2|zst))?", re.DOTALL)
_ARCHIVE = re.compile(r"\.(?:zip|tar|tgz|tbz2?|txz|tzst|tar\.(?:gz|bz2|xz|zst))\Z", re.IGNORECASE)
_SET_UP = "Set up job"
_SPELT_OTHERWISE = re.compile(r'[\\/:*?"<>|]')


@dataclass(frozen=True, slots=True)
class Place:
    """kind: `job-log` (the whole log of a job), `step-log` (one step of it), or `file` (anything else). job: its name,
    or for a file what stands for one (the artifact's), or None. step: the step's name, or None."""

    kind: str
    job: str | None
    step: str | None = None


def same_job(one: str | None, other: str | None) -> bool:
    """Whether two names mean one job: file names cannot hold some of the characters that job names do."""
    return one == other or job_key(one) == job_key(other)


def job_key(job: str | None) -> str | None:
    """What all spellings of a job's name share."""
    return None if job is None else _SPELT_OTHERWISE.sub("_", job).strip(" .")


def places_of(names: Sequence[str], roots: Sequence[str]) -> list[Place]:
    """The place of each source. roots: the paths that the user gave, as they are shown."""
    split = [_below(name, roots) for name in names]
    files: dict[tuple[str, ...], set[str]] = {}
    directories: dict[tuple[str, ...], set[str]] = {}
    for parts in split:
        files.setdefault(parts[:-1], set()).add(parts[-1])
        for depth in range(1, len(parts) - 1):
            directories.setdefault(parts[:depth], set()).add(parts[depth])
    common = _common(parts[:-1] for parts in split)
    several = len({parts[0] for parts in split}) > 1
    return [_place(parts, files, directories, common, several) for parts in split]


def _below(name: str, roots: Sequence[str]) -> tuple[str, ...]:
    """The root's own name, then the parts of the path below it; the name alone for a file that was named itself."""
    best = max((root for root in roots if name == root or name.startswith(root.rstrip("/") + "/")), key=len, default="")
    if name == best:
        return ("", best.rpartition("/")[2])
    below = [part for part in name[len(best) :].split("/") if part]
    top = best.rstrip("/").rpartition("/")[2]
    return ("" if top in (".", "..", "-") else top, *below)


def _common(containers: Iterable[tuple[str, ...]]) -> int:
    """How many containers all sources share, so that their names tell nothing apart."""
    every = set(containers)
    if len(every) < 2:
        return 1
    shortest = min(len(parts) for parts in every)
    for depth in range(shortest):
        if len({parts[depth] for parts in every}) > 1:
            return max(1, depth)
    return shortest


def _place(
    parts: tuple[str, ...],
    files: dict[tuple[str, ...], set[str]],
    directories: dict[tuple[str, ...], set[str]],
    common: int,
    several: bool,
) -> Place:
    above, file = parts[:-1], parts[-1]
    numbered = _NUMBERED.fullmatch(file)
    if numbered is not None:
        if above != ("",) and _is_step(numbered[1], above, files, directories):
            return Place(STEP_LOG, above[-1], numbered[1])
        return Place(JOB_LOG, numbered[1])
    if file == "system.txt" and len(above) > 1 and _has_job_log(above, files):
        return Place(STEP_LOG, above[-1], "system")
    if len(above) > common:
        return Place(FILE, _ARCHIVE.sub("", above[common]))
    # Where one path was given its own name tells nothing apart.
    return Place(FILE, (_ARCHIVE.sub("", above[0]) or None) if several else None)


def _is_step(
    name: str,
    above: tuple[str, ...],
    files: dict[tuple[str, ...], set[str]],
    directories: dict[tuple[str, ...], set[str]],
) -> bool:
    """Whether a numbered file is a step's log in a directory of its job, and not a job's log beside others."""
    if name in directories.get(above, ()):
        return False
    if len(above) > 1 and _has_job_log(above, files):
        return True
    siblings = files[above]
    if any(_named(sibling) == _SET_UP for sibling in siblings):
        return True
    if len(above) == 1 or _ARCHIVE.search(above[-1]):
        return False
    return not any(sibling.startswith("0_") for sibling in siblings)


def _has_job_log(above: tuple[str, ...], files: dict[tuple[str, ...], set[str]]) -> bool:
    """Whether the log of the job that a directory is named after stands beside the directory."""
    return any(_named(file) == above[-1] for file in files.get(above[:-1], ()))


def _named(file: str) -> str | None:
    found = _NUMBERED.fullmatch(file)
    return found[1] if found is not None else None

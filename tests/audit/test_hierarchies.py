"""Generated class hierarchies: the audit's order, level and setter equal those of the imported classes."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from real_classes import HEAD, LEVEL, MERGING, fresh_name, imported, merged_owner, set_up, write

from memcheck_cli.audit import audit
from memcheck_cli.audit.follow.classes import READ, ClassValue, linearise
from memcheck_cli.audit.follow.values import Site

VARIABLES = (LEVEL, "SGLANG_TEST_RETRACT", "SGLANG_LOG_MS")
VALUES = (0, 1, 2, -1, "1", "0", "two", True, False, None)


@dataclass
class Made:
    """One class to be written: its bases by number (-1: the server fixture), its pairs, and how they are written."""

    bases: list[int]
    pairs: list[tuple[str, object]] | None
    style: str
    file: int
    afterwards: str
    own_test: bool


@st.composite
def hierarchies(draw: st.DrawFn) -> list[Made]:
    made: list[Made] = []
    real: list[type] = []
    server = type("Server", (), {})
    file = 0
    for number in range(draw(st.integers(1, 8))):
        bases = draw(st.lists(st.integers(-1, number - 1), unique=True, max_size=3))
        while True:
            try:
                real.append(type("C", tuple(server if base < 0 else real[base] for base in bases), {}))
                break
            except TypeError:
                bases = bases[1:]
        pairs = draw(st.none() | st.lists(st.tuples(st.sampled_from(VARIABLES), st.sampled_from(VALUES)), max_size=3))
        file += draw(st.sampled_from((0, 0, 1)))
        made.append(
            Made(
                bases,
                pairs,
                draw(st.sampled_from(("literal", "list", "constant", "sum", "star", "base"))),
                file,
                draw(st.sampled_from(("", "", "", "set", "delete"))),
                draw(st.booleans()),
            )
        )
    return made


def sources(made: list[Made], package: str) -> dict[str, str]:
    """The files of a hierarchy: file 0 holds the fixture, later ones import from all earlier ones."""
    texts = {0: HEAD + MERGING}
    inherits: dict[int, bool] = {-1: True}
    for number, cls in enumerate(made):
        if cls.file not in texts:
            texts[cls.file] = HEAD + "".join(
                f"from {package} import part{other}\n" if other % 2 else f"from .part{other} import *\n"
                for other in range(cls.file)
            )
        inherits[number] = cls.pairs is not None or any(inherits[base] for base in cls.bases)
        texts[cls.file] += source(number, cls, made, inherits)
    return {f"{package}/part{file}.py": text for file, text in texts.items()} | {f"{package}/__init__.py": ""}


def source(number: int, cls: Made, made: list[Made], inherits: dict[int, bool]) -> str:
    bases = [refer(base, made, cls.file) for base in cls.bases]
    text, body = "", ["    pass"]
    if cls.own_test:
        body.append("    def test_it(self): pass")
    if cls.pairs is not None:
        pairs = "".join(f"(envs.{name}, {value!r}), " for name, value in cls.pairs)
        styles = {"list": f"[{pairs}]", "sum": f"() + ({pairs})", "star": f"(*({pairs}),)"}
        written = styles.get(cls.style, f"({pairs})")
        if cls.style == "constant":
            text += f"\nPAIRS{number} = {written}\n"
            written = f"PAIRS{number}"
        base = next((base for base, value in zip(bases, cls.bases, strict=True) if inherits[value]), None)
        if cls.style == "base" and base is not None:
            written = f"tuple({base}.env_overrides) + {written}"
        body.append(f"    env_overrides = {written}")
    text += f"\nclass TestC{number}({', '.join(bases)}):\n" + "\n".join(body) + "\n"
    if cls.afterwards == "set":
        text += f"\nTestC{number}.env_overrides = ((envs.{LEVEL}, {number % 3}),)\n"
        inherits[number] = True
    elif cls.afterwards == "delete" and cls.pairs is not None:
        text += f"\ndel TestC{number}.env_overrides\n"
        inherits[number] = any(inherits[base] for base in cls.bases)
    return text


def refer(base: int, made: list[Made], file: int) -> str:
    name = "Server" if base < 0 else f"TestC{base}"
    home = 0 if base < 0 else made[base].file
    return f"part{home}.{name}" if home % 2 and home != file else name


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(hierarchies())
def test_generated_hierarchies(made: list[Made]) -> None:
    package = fresh_name()
    with tempfile.TemporaryDirectory() as directory:
        root = write(Path(directory), sources(made, package))
        answers = {entry.name: entry for entry in audit([directory]).classes}
        with imported(root) as load:
            for number, cls in enumerate(made):
                value = getattr(load(f"{package}.part{cls.file}"), f"TestC{number}")
                servers = set_up(value) if hasattr(value, "setUpClass") else []
                tested = any(name.startswith("test") for name in dir(value))
                answer = answers.pop(f"TestC{number}", None)
                assert (answer is not None) == bool(servers and tested)
                if answer is None:
                    continue
                assert [answer.level] == servers, answer.reasons
                assert answer.set_by == merged_owner(value)
                assert answer.verdict == ("checked" if servers[0] else "unchecked")
                order = [base.__name__ for base in value.__mro__ if base.__name__ != "TestCase"]
                assert [base.name for base in answer.order if base.name != "CustomTestCase"] == order
    assert not answers


@settings(max_examples=300, deadline=None)
@given(st.lists(st.lists(st.integers(0, 11), max_size=4), min_size=1, max_size=12))
def test_linearisation(drawn: list[list[int]]) -> None:
    """C3 as `type` computes it, and None exactly where `type` refuses the bases."""
    real: list[type] = []
    ours: list[ClassValue] = []
    for number, wanted in enumerate(drawn):
        chosen = [base for base in wanted if base < len(real)]
        cls = ClassValue(f"C{number}", READ, Site("", 0))
        order = linearise(cls, [ours[base] for base in chosen])
        try:
            value = type(f"C{number}", tuple(real[base] for base in chosen), {})
        except TypeError:
            assert order is None
            continue
        assert order is not None
        assert [entry.name for entry in order] == [entry.__name__ for entry in value.__mro__[:-1]]
        cls.mro = order
        real.append(value)
        ours.append(cls)

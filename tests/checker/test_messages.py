"""A template reads what it prints, and nothing else."""

from __future__ import annotations

import pytest
from growth import assert_linear_in
from hypothesis import given
from hypothesis import strategies as st

from memcheck_cli.checker import messages
from memcheck_cli.checker.messages import Template
from memcheck_cli.log.dialects import DIALECTS

COUNT = st.integers(-(10**18) + 1, 10**18 - 1)
TEMPLATES = [value for value in vars(messages).values() if isinstance(value, Template)]
BUSY_VALUES = {
    "pool": "swa",
    "total": 131072,
    "available": 126720,
    "evictable": 3840,
    "protected": 256,
    "session_held": -64,
    "uncached": 512,
}


def test_the_busy_line_is_printed_to_the_letter() -> None:
    assert messages.BUSY.print(**BUSY_VALUES) == (
        "[Mem Check (BUSY)] [swa] total=131072, available=126720, evictable=3840, protected=256, session_held=-64, "
        "uncached=512"
    )


def test_the_busy_line_is_read_back() -> None:
    assert messages.BUSY.read(messages.BUSY.print(**BUSY_VALUES)) == BUSY_VALUES


@given(st.fixed_dictionaries(dict.fromkeys(messages.TERMS.fields, COUNT)))
def test_any_counts_come_back(values: dict[str, int]) -> None:
    assert messages.TERMS.read(messages.TERMS.print(**values)) == values


@pytest.mark.parametrize(
    "text",
    [
        "total=1, available=2, evictable=3, protected=4, session_held=5, uncached=6 ",
        "total=1, available=2, evictable=3, protected=4, session_held=5, uncached=",
        "total=1, available=2, evictable=3, protected=4, session_held=5, uncached=1234567890123456789",
        "total=1, available=2, evictable=3, protected=4, session_held=5, uncached=٣",
        "total=1, available=2, evictable=3, protected=4, session_held=5, uncached=6\n",
        "total=1, available=2, evictable=3, protected=4, session_held=5",
        "total=1,available=2, evictable=3, protected=4, session_held=5, uncached=6",
    ],
)
def test_nothing_else_is_read(text: str) -> None:
    assert messages.TERMS.read(text) is None


def test_printing_needs_every_field() -> None:
    with pytest.raises(KeyError):
        messages.POOL.print(pool="full", total=1)


def test_pairs_say_what_the_checker_calls_a_field() -> None:
    template = Template("self.tree_cache.full_protected_size()={protected}, x: y={other}, {bare}")
    assert template.pairs == (("self.tree_cache.full_protected_size()", "protected"), ("y", "other"))
    assert template.fields == ("protected", "other", "bare")
    assert template.start == "self.tree_cache.full_protected_size()="


def test_literal_braces_survive() -> None:
    template = Template("a={{{count}}}")
    assert template.print(count=3) == "a={3}"
    assert template.read("a={3}") == {"count": 3}


def test_templates_can_be_joined() -> None:
    assert (Template("x ") + Template("n={n}") + ".").read("x n=4.") == {"n": 4}


@pytest.mark.parametrize("template", [*TEMPLATES, *(form.template for form in DIALECTS)], ids=lambda t: t.text[:40])
def test_a_printed_template_is_read_back(template: Template) -> None:
    values: dict[str, object] = {}
    for at, (name, kind) in enumerate(zip(template.fields, template._kinds, strict=True)):
        values[name] = {"": 1000 + at, "float": 0.5 + at, "word": f"pool{at}", "text": "a, b", "value": "[1, 2]"}[kind]
    assert template.read(template.print(**values)) == values


@pytest.mark.parametrize("template", [*TEMPLATES, *(form.template for form in DIALECTS)], ids=lambda t: t.text[:40])
def test_a_template_has_at_most_one_free_field(template: Template) -> None:
    assert sum(kind in ("text", "value") for kind in template._kinds) <= 1, "two would make reading quadratic"


def test_reading_is_linear() -> None:
    read = messages.USE_AFTER_FREE.read
    head = "KV page use-after-free: 1 owner page refs are in the free pool, sample pages=["
    for text in (messages.USE_AFTER_FREE.start + "1" * 1_000_000, head + "]." * 500_000 + "x"):
        assert read(text) is None
        assert_linear_in(text, read)

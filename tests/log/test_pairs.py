"""`name=value` pairs with lists, sets and dicts inside: whole ones are read, nothing else is guessed."""

from __future__ import annotations

import pytest
from growth import assert_linear_in
from hypothesis import given
from hypothesis import strategies as st

from memcheck_cli.log.pairs import read_literal, read_pairs

NAMES = st.from_regex(r"[a-z_][a-z0-9_.]{0,12}(\(\))?", fullmatch=True)
ATOMS = (
    st.none() | st.booleans() | st.integers(-(10**18) + 1, 10**18 - 1) | st.from_regex(r"[a-z ,=]{0,9}", fullmatch=True)
)
NESTED = st.recursive(
    ATOMS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.from_regex(r"[a-z]{1,5}", fullmatch=True), inner, max_size=4)
    ),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[]", []),
        ("{}", {}),
        ("[1, -2, 3]", [1, -2, 3]),
        ("{5, 7}", [5, 7]),
        ("(1,)", [1]),
        ("{'a': 1, 'b': [2, {'c': None}]}", {"a": 1, "b": [2, {"c": None}]}),
        ('["x, y", True]', ["x, y", True]),
        ("'it, is'", "it, is"),
        ("[[1], [2, 3]]", [[1], [2, 3]]),
        ("[1.5]", [1.5]),
    ],
)
def test_literals(text: str, value: object) -> None:
    assert read_literal(text, 0) == (value, len(text))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[",
        "[1, 2",
        "[1, 2}",
        "{'a': }",
        "{'a': 1, 2}",
        "[1: 2]",
        "[1 2]",
        "[,]",
        "[[1] [2]]",
        "'open",
        "[1234567890123456789]",
        "[" * 9 + "]" * 9,
        "[<x>]",
        "{[1]: 2}",
        "1",
        "word",
    ],
)
def test_what_is_no_literal(text: str) -> None:
    assert read_literal(text, 0) is None


@given(st.lists(st.tuples(NAMES, NESTED), min_size=1, max_size=5))
def test_what_python_prints_comes_back(pairs: list[tuple[str, object]]) -> None:
    text = ", ".join(f"{name}={value!r}" for name, value in pairs)
    assert read_pairs(text) == (pairs, len(text), True)


@pytest.mark.parametrize(
    ("text", "whole", "rest"),
    [
        ("a=1, b=2, c", [("a", 1), ("b", 2)], 10),
        ("a=1, b=", [("a", 1)], 5),
        ("a=1, b=2,", [("a", 1)], 5),
        ("a=1; b=2", [], 0),
        ("a=1 b=2", [], 0),
        ("a=12345678901234567890, b=1", [], 0),
        ("a=1,b=2", [], 0),
        ("a=[1, 2, b=3", [], 0),
        ("a=0x10", [], 0),
        ("a=1x", [], 0),
        ("=1", [], 0),
        ("a=٣", [], 0),
    ],
)
def test_reading_ends_at_the_first_thing_that_is_no_pair(text: str, whole: list[object], rest: int) -> None:
    assert read_pairs(text) == (whole, rest, False)


@pytest.mark.parametrize("value", ["None", "True", "set()", "census", "np.int64", "1.5", "-3"])
def test_words_and_numbers(value: str) -> None:
    known = {"None": None, "True": True, "set()": [], "1.5": 1.5, "-3": -3}
    assert read_pairs(f"a={value}, b=1").pairs == [("a", known.get(value, value)), ("b", 1)]


@given(st.text(alphabet="a=1,-[]{}()'\": \n.", max_size=60))
def test_any_text_is_survived(text: str) -> None:
    pairs, rest, whole = read_pairs(text)
    assert 0 <= rest <= len(text)
    assert whole == (bool(pairs) and rest == len(text))


@pytest.mark.parametrize(
    "text",
    [
        "a=1, " * 200_000,
        "a=[" + "1, " * 300_000,
        "a={" + "'k': 1, " * 100_000 + "}",
        "a=" + "[" * 1_000_000,
        "a=" + "9" * 1_000_000,
        "a" * 1_000_000 + "=1",
        "a='" + "x" * 1_000_000,
        "a=[1, 2, x], " * 80_000,
        "a=[" + " " * 1_000_000,
    ],
    ids=lambda text: text[:8],
)
def test_time_is_linear(text: str) -> None:
    assert_linear_in(text, read_pairs)


def test_a_set_of_a_hundred_thousand_pages_is_read() -> None:
    pages = list(range(100_000))
    text = "leaked_full_pages={" + ", ".join(map(str, pages)) + "}, leaked_mamba_pages=None"
    assert read_pairs(text).pairs == [("leaked_full_pages", pages), ("leaked_mamba_pages", None)]

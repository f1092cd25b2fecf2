"""The order of SGLang's releases and the spans that rules are bound to."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcheck_cli.checker.releases import NEWEST, RELEASES, Release, ReleaseError, Span, held_to
from memcheck_cli.errors import UsageError


def test_the_known_releases_are_in_order() -> None:
    parsed = [Release.parse(name) for name in RELEASES]
    assert parsed == sorted(parsed)
    assert len(set(parsed)) == len(RELEASES) == 101
    assert sum("rc" in name for name in RELEASES) == 9
    assert RELEASES[0] == "0.4.0" and NEWEST == "0.5.23"


def test_order_of_stages() -> None:
    texts = ["0.5.9", "0.5.10.dev3", "0.5.10rc0", "0.5.10", "0.5.10.post1.dev2", "0.5.10.post1", "0.5.11"]
    assert [str(one) for one in sorted(Release.parse(text) for text in reversed(texts))] == texts


@pytest.mark.parametrize("text", ["0.5.12.post1+cu128", "v0.5.12.post1", "0.5.12-post1", " 0.5.12.post1 "])
def test_spellings_of_one_release(text: str) -> None:
    assert Release.parse(text) == Release.parse("0.5.12.post1")


@pytest.mark.parametrize(
    "text", ["", "5", "latest", "0.5.x", "0.5.12 or so", "0.5.\u0661", "0.5." + "9" * 40, "0.5.9\n0"]
)
def test_nonsense_is_a_usage_error(text: str) -> None:
    with pytest.raises(ReleaseError) as error:
        Release.parse(text)
    assert isinstance(error.value, UsageError)
    assert error.value.exit_code == 2
    assert "\n" not in str(error.value)


@given(st.text(max_size=40))
def test_no_text_escapes(text: str) -> None:
    with contextlib.suppress(ReleaseError):
        assert str(Release.parse(text)) == text.strip()


def test_spans_hold_both_ends() -> None:
    span = Span.of("0.5.10rc0", "0.5.10.post1")
    assert [name for name in RELEASES if name in span] == ["0.5.10rc0", "0.5.10", "0.5.10.post1"]
    assert "0.5.99" in Span.of("0.5.22")
    assert 5 not in span
    assert str(span) == "0.5.10rc0-0.5.10.post1"
    assert str(Span.of("0.5.22")) == "0.5.22+"


def test_builds_between_releases_follow_the_older_one() -> None:
    assert str(held_to("0.5.11.dev7+g12ab")) == "0.5.10.post1"
    assert str(held_to("0.6.1")) == NEWEST
    assert str(held_to("0.5.0")) == "0.5.0rc2"
    with pytest.raises(ReleaseError, match="no rules"):
        held_to("0.3.6")

"""JUnit files of a bundle, also hostile ones."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_bundles import junit

from memcheck_cli.artifacts import junit_files
from memcheck_cli.artifacts.junit_files import is_junit, read_junit
from memcheck_cli.errors import UnreadableError
from memcheck_cli.sources import Source

BOMB = (
    b'<?xml version="1.0"?><!DOCTYPE t [<!ENTITY a "ha">'
    + b"".join(b'<!ENTITY %c "%s">' % (98 + n, b"&%c;" % (97 + n) * 50) for n in range(8))
    + b']><testsuites><testsuite><testcase name="&i;"/></testsuite></testsuites>'
)
EXTERNAL = b'<!DOCTYPE t [<!ENTITY a SYSTEM "file:///etc/passwd">]><testsuite><testcase name="&a;"/></testsuite>'


def source_of(data: bytes) -> Source:
    return Source("junit.xml", lambda _: io.BytesIO(data))  # type: ignore[arg-type, return-value]


def test_cases_and_their_names() -> None:
    cases = read_junit(
        source_of(
            junit(
                [
                    ("test.srt.test_a.TestA", "test_b[x-1]", None),
                    ("test_a.TestA", "test_c", "boom"),
                    ("tests.test_f", "test_function", None),
                    ("com.example.Thing", "works", None),
                ]
            )
        )
    )
    assert [(case.file, case.cls, case.method, case.status) for case in cases] == [
        ("test/srt/test_a.py", "TestA", "test_b", "passed"),
        ("test_a.py", "TestA", "test_c", "failed"),
        ("tests/test_f.py", None, "test_function", "passed"),
        (None, "Thing", "works", "passed"),
    ]
    assert cases[1].message == "AssertionError\nboom"


def test_errors_skips_and_nested_suites() -> None:
    data = b"""<testsuites><testsuite name="outer"><testsuite name="inner">
      <testcase classname="A" name="a"><error message="m">trace</error></testcase>
      <testcase classname="A" name="b"><skipped/></testcase></testsuite></testsuite></testsuites>"""
    assert [(case.method, case.status) for case in read_junit(source_of(data))] == [("a", "error"), ("b", "skipped")]


def test_a_single_suite_and_a_declared_encoding() -> None:
    data = '<?xml version="1.0" encoding="utf-16"?><testsuite name="é"><testcase name="a"/></testsuite>'.encode()
    (case,) = read_junit(source_of(data))
    assert case.suite == "é"


@pytest.mark.parametrize("data", [BOMB, EXTERNAL, b"\xef\xbb\xbf" + BOMB, b"<!-- <testsuites> -->" + EXTERNAL])
def test_a_document_type_is_refused(data: bytes) -> None:
    with pytest.raises(UnreadableError, match="document type"):
        read_junit(source_of(data))


def test_a_document_type_inside_a_text_is_none() -> None:
    data = b"<testsuite><testcase name='a'><system-out><![CDATA[<!DOCTYPE html>]]></system-out></testcase></testsuite>"
    assert len(read_junit(source_of(data))) == 1


def test_size_and_number_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    data = junit([("a.B", f"c{number}", None) for number in range(50)])
    monkeypatch.setattr(junit_files, "MOST_CASES", 20)
    with pytest.raises(UnreadableError, match="more than 20 cases"):
        read_junit(source_of(data))
    monkeypatch.setattr(junit_files, "MOST_BYTES", 1 << 10)
    with pytest.raises(UnreadableError, match="larger than"):
        read_junit(source_of(data))


def test_deep_nesting_is_refused_or_read() -> None:
    depth = 20_000
    data = (
        b"<testsuites>" + b"<testsuite>" * depth + b"<testcase name='a'/>" + b"</testsuite>" * depth + b"</testsuites>"
    )
    with pytest.raises(UnreadableError):
        read_junit(source_of(data))


@pytest.mark.parametrize("data", [b"<testsuites", b"<testsuites>&x;</testsuites>", b"<testsuites></testsuite>", b""])
def test_damaged_files_are_unreadable(data: bytes) -> None:
    with pytest.raises(UnreadableError):
        read_junit(source_of(data))


@given(st.binary(max_size=300))
def test_no_bytes_break_it(data: bytes) -> None:
    for text in (data, b"<testsuites>" + data + b"</testsuites>"):
        try:
            read_junit(source_of(text))
        except UnreadableError as error:
            assert "\n" not in str(error)


@pytest.mark.parametrize(
    ("head", "is_one"),
    [
        (b"<testsuites>", True),
        (b'\xef\xbb\xbf<?xml version="1.0"?>\n<testsuite name="a">', True),
        (BOMB[:4096], True),
        (b"<html><testsuitex>", False),
        (b"a log that speaks of <testsuites>", False),
        (b"", False),
    ],
)
def test_what_looks_like_junit(head: bytes, is_one: bool) -> None:
    assert is_junit(head) is is_one

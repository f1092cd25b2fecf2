"""`memcheck forms` lists every form and says how a line is read."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner

import memcheck_cli
from memcheck_cli.cli.forms import command
from memcheck_cli.log.dialects import DIALECTS, NAMES

PREFIX = "[2026-06-11 08:15:05.120 DP1 TP1] "
SWA = "[swa] total=131072, available=126720, evictable=3840, protected=256, session_held=0, uncached=512"
BUSY = f"[Mem Check (BUSY)] {SWA}"
SCHEMA = json.loads((Path(memcheck_cli.__file__).parent / "schemas" / "forms.json").read_text("utf-8"))


def run(*arguments: str, stdin: str | bytes | None = None) -> tuple[int, str]:
    # The command returns its exit code; the console script's frame exits with it.
    result = CliRunner().invoke(command, list(arguments), input=stdin, standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return result.return_value, result.output


def run_json(*arguments: str, stdin: str | bytes | None = None) -> tuple[int, dict[str, object]]:
    code, output = run(*arguments, "--format", "json", stdin=stdin)
    document = json.loads(output)
    jsonschema.validate(document, SCHEMA)
    assert next(iter(document)) == "schema"
    return code, document


def read(text: str) -> dict[str, object]:
    code, document = run_json(text)
    (entry,) = document["lines"]  # type: ignore[misc]
    assert code == (0 if entry["form"] else 3)
    return entry  # type: ignore[no-any-return]


def test_every_form_and_name_is_listed() -> None:
    code, output = run()
    assert code == 0
    assert all(f"  {form.id}  ({form.releases})" in output for form in DIALECTS)
    assert all(name.name in output for name in NAMES)
    assert max(map(len, output.splitlines())) <= 80
    assert "\x1b" not in output


def test_the_list_as_json() -> None:
    code, document = run_json()
    assert code == 0
    assert [form["id"] for form in document["forms"]] == [form.id for form in DIALECTS]  # type: ignore[attr-defined]
    assert [name["name"] for name in document["names"]] == [name.name for name in NAMES]  # type: ignore[attr-defined]


@pytest.mark.parametrize("form", DIALECTS, ids=lambda form: form.id)
def test_every_form_can_be_shown_by_name(form: object) -> None:
    code, output = run(form.id.lower())  # type: ignore[attr-defined]
    assert code == 0
    assert output.startswith(f"{form.id}  ")  # type: ignore[attr-defined]
    assert form.releases in output  # type: ignore[attr-defined]
    assert max(map(len, output.splitlines())) <= 80


@pytest.mark.parametrize("form", DIALECTS, ids=lambda form: form.id)
def test_every_sample_is_told_as_its_form(form: object) -> None:
    for sample in form.samples:  # type: ignore[attr-defined]
        entry = read(sample)
        assert entry["form"] == form.id  # type: ignore[attr-defined]
        assert entry["kind"] == form.kind  # type: ignore[attr-defined]
        code, output = run(sample)
        assert code == 0 and output.startswith(f"{form.id}  ")  # type: ignore[attr-defined]
        assert max(map(len, output.splitlines())) <= 80


def test_a_busy_line_is_understood() -> None:
    entry = read(PREFIX + BUSY)
    assert (entry["form"], entry["rank"], entry["time"]) == ("B3", "DP1 TP1", "2026-06-11T08:15:05.120")
    (pool,) = entry["pools"]  # type: ignore[misc]
    assert pool == {
        "pool": "swa",
        "total": 131072,
        "terms": {"available": 126720, "evictable": 3840, "protected": 256, "session_held": 0, "uncached": 512},
        "accounted": 131328,
        "delta": 256,
        "extra_terms": {},
        "marks": [],
    }


def test_the_answer_for_a_person_says_sum_and_direction() -> None:
    code, output = run(PREFIX + BUSY)
    assert code == 0
    assert "accounted                  131328" in output
    assert "256   owned twice (overcount)" in output
    assert "0.5.11-0.5.23" in output
    assert "DP1 TP1" in output


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (BUSY.replace("uncached=512", "uncached=256"), "balanced"),
        (BUSY.replace("uncached=512", "uncached=0"), "nobody owns them (leak)"),
        (BUSY + ", dcp_physical_page_slack_allowed=True", "tolerated by the server"),
        (BUSY + ", unaligned_sharded_counts={'a': 1}, page_size=64", "reported by the server"),
        (BUSY + ", foo=3", "no SGLang release prints this name"),
        (
            "[Mem Check (BUSY)] available_size=7, evictable_size=2, protected_size=1, uncached_size=0",
            "no total is printed",
        ),
        (
            "[Mem Check (BUSY)] [swa] unified ring (leak-check skipped): available=9, evictable=0, total=12",
            "does not check",
        ),
    ],
)
def test_what_the_server_makes_of_it(text: str, says: str) -> None:
    assert says in run(text)[1]


def test_old_idle_forms_leave_out_what_they_do_not_sum() -> None:
    entry = read(
        "ValueError: token_to_kv_pool_allocator memory leak detected! self.full_tokens_per_layer=10, "
        "full_available_size=7, full_evictable_size=3, self.tree_cache.full_protected_size()=2"
    )
    (pool,) = entry["pools"]  # type: ignore[misc]
    assert (pool["accounted"], pool["delta"]) == (10, 0)


def test_wrapping_may_be_left_on() -> None:
    entry = read(f"sglang-node1  | {PREFIX}{BUSY}")
    assert (entry["process"], entry["form"]) == ("sglang-node1", "B3")


@pytest.mark.parametrize("text", ["hello", "", "Decode batch, #running-req: 1, #token: 3, token usage: 0.00"])
def test_no_text_of_the_checker_exits_3(text: str) -> None:
    code, output = run(text)
    assert code == 3 and "No text of the checker" in output


def test_a_torn_line_exits_3_with_the_reason() -> None:
    code, output = run(PREFIX + BUSY[:60])
    assert code == 3 and "Torn" in output and "cut or torn behind available" in output
    assert run_json(PREFIX + BUSY[:60])[1]["lines"][0]["kind"] == "torn"  # type: ignore[index]


def test_lines_on_stdin() -> None:
    text = f"{PREFIX}{BUSY}\nnoise\n{PREFIX}{BUSY[:50]}\nValueError: pool memory leak detected! {SWA}\n{SWA}"
    code, document = run_json("-", stdin=text)
    lines = document["lines"]
    assert code == 0
    assert [(line["line"], line["form"], line["kind"]) for line in lines] == [  # type: ignore[attr-defined]
        (1, "B3", "busy"),
        (2, None, None),
        (3, None, "torn"),
        (4, "I", "idle"),
        (5, "pool", "pool"),
    ]
    assert [line["whole"] for line in lines] == [True, True, True, True, False]  # type: ignore[attr-defined]
    output = run("-", stdin=text)[1]
    assert "line 4: I" in output and "1 line says nothing about the pools." in output
    assert output.count("note  ") <= 3, "notes stand where a form comes first"


def test_empty_stdin_has_no_text_of_the_checker() -> None:
    assert run("-", stdin="")[0] == 3


def test_bytes_that_are_no_text_are_survived() -> None:
    code, output = run("-", stdin=b"\xff\xfe[Mem Check (BUSY)] \x1b[31m\x00[full]\n\xf0\x9f\n")
    assert code == 3
    assert "\x1b" not in output and "\x00" not in output


def test_control_characters_do_not_reach_the_terminal() -> None:
    output = run(f"{BUSY}, note='\x1b[31mred\x07'")[1]
    assert "\x1b" not in output and "\x07" not in output and "\\x07" in output


def test_the_answer_can_go_to_a_file(tmp_path: Path) -> None:
    target = tmp_path / "forms.json"
    code, output = run("--format", "json", "-o", str(target))
    assert (code, output) == (0, "")
    assert json.loads(target.read_text("utf-8"))["schema"] == "memcheck.forms/1"


def test_the_console_script_exits_with_the_code() -> None:
    script = [sys.executable, "-m", "memcheck_cli", "forms"]
    done = subprocess.run([*script, "-"], input=f"{PREFIX}{BUSY}\n", capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "owned twice" in done.stdout
    done = subprocess.run([*script, "hello"], capture_output=True, text=True, check=False)
    assert done.returncode == 3

"""`memcheck explain` lists every signature and tells one in full."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner, Result

import memcheck_cli
from memcheck_cli.cli.explain import command
from memcheck_cli.forensics.signatures import SIGNATURES

SCHEMA = json.loads((Path(memcheck_cli.__file__).parent / "schemas" / "explain.json").read_text("utf-8"))


def run(*arguments: str) -> Result:
    return CliRunner().invoke(command, list(arguments))


def test_the_list_names_every_signature() -> None:
    result = run()
    assert result.exit_code == 0
    assert all(f"  {signature.id} " in result.output for signature in SIGNATURES)
    assert all(len(line) <= 80 for line in result.output.split("\n"))


@pytest.mark.parametrize("signature", SIGNATURES, ids=lambda signature: signature.id)
def test_one_in_full(signature) -> None:
    text = " ".join(run(signature.id).output.split())
    for part in (signature.title, signature.seen, signature.against, signature.separate, signature.fix or ""):
        assert part in text
    assert all(url in text for url in signature.urls)
    assert "{" not in text
    assert (f"N {signature.counts}" in text) is ("{amount}" in signature.points_to)
    data = json.loads(run(signature.id, "--format", "json").output)
    jsonschema.validate(data, SCHEMA)
    assert next(iter(data)) == "schema"


def test_the_list_as_json() -> None:
    data = json.loads(run("--format", "json").output)
    jsonschema.validate(data, SCHEMA)
    assert [one["id"] for one in data["signatures"]] == [signature.id for signature in SIGNATURES]


def test_no_such_signature() -> None:
    result = run("freedtwice")
    assert result.exit_code == 2
    assert "freed-twice" in result.output
    assert run("xyzzy").exit_code == 2


def test_output_goes_to_a_file(tmp_path: Path) -> None:
    target = tmp_path / "answer.json"
    result = run("freed-twice", "--format", "json", "-o", str(target))
    assert (result.exit_code, result.output) == (0, "")
    assert json.loads(target.read_text())["id"] == "freed-twice"


def test_it_starts_light() -> None:
    code = (
        "import sys; from memcheck_cli.cli.explain import command; print('numpy' in sys.modules, 'rich' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]

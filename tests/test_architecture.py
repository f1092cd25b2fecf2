"""What the design promises: one direction of imports, one place that prints, modules that say what they are."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "memcheck_cli"
MODULES = sorted(PACKAGE.rglob("*.py"))

LAYERS = (
    {"errors", "patterns", "counting"},
    {"checker"},
    {"sources", "log"},
    {"recording", "ledger", "audit"},
    {"forensics"},
    {"compare", "artifacts", "replaying"},
    {"render", "api"},
    {"cli"},
    {"__main__"},
)
"""A module may import from its own layer's package and from layers above it here, never from one below."""

APART = {"sources": {"errors", "patterns", "counting", "sources"}, "checker": {"errors", "patterns", "checker"}}
"""Packages that know nothing of the others, whatever their place."""


def name_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return parts[0]


def level_of(name: str) -> int:
    return next(level for level, names in enumerate(LAYERS) if name in names)


def imports_of(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: relative import"
            names = [node.module]
            if node.module == "memcheck_cli":
                names = [f"memcheck_cli.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        found |= {name for name in names if name.split(".")[0] != "memcheck_cli"}
        found |= {name.split(".")[1] for name in names if name.startswith("memcheck_cli.")}
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_go_one_way(path: Path):
    own = name_of(path)
    if own == "__init__":
        return
    for name in imports_of(path) - {"__version__"}:
        if (PACKAGE / name).exists() or (PACKAGE / f"{name}.py").exists():
            assert level_of(name) < level_of(own) or name == own or level_of(name) == level_of(own) == 3, name
            if own in APART:
                assert name in APART[own], name


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_only_cli_and_render_talk_to_people(path: Path):
    if name_of(path) in ("cli", "render", "__main__"):
        return
    assert not {name.split(".")[0] for name in imports_of(path)} & {"click", "rich"}
    tree = ast.parse(path.read_text())
    calls = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert not calls & {"print", "exit", "quit", "input", "eval", "exec"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_every_module_says_what_it_is(path: Path):
    assert ast.get_docstring(ast.parse(path.read_text()))
    assert path.stem not in ("utils", "helpers", "common", "manager", "misc")


HEAVY = ("numpy", "pandas", "rich", "junitparser", "zstandard", "jsonschema")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--help"], 0),
        (["--version"], 0),
        (["analyze", "--help"], 0),
        (["analyze", "--format", "json", "samples/lost-page.log"], 1),
        (["analyze", "--format", "json", "samples/healthy.log"], 0),
    ],
)
def test_small_runs_import_nothing_heavy(arguments: list[str], code: int):
    script = (
        "import sys\n"
        "from memcheck_cli.cli.main import main\n"
        f"sys.argv = ['memcheck', *{arguments!r}]\n"
        "try:\n    main()\n"
        "except SystemExit as ended:\n    sys.stderr.write(f'\\n{ended.code}')\n"
        f"sys.stderr.write('\\n' + ' '.join(m for m in {HEAVY!r} if m in sys.modules))\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=PACKAGE.parent, check=True, timeout=60
    )
    *_, exit_code, loaded = run.stderr.split("\n")
    assert (int(exit_code), loaded) == (code, "")


def test_the_terms_are_named_once():
    listed = '"available", "evictable", "protected", "session_held", "uncached"'
    assert [path.name for path in MODULES if listed in path.read_text()] == ["terms.py"]

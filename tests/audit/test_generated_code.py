"""Generated setUpClass bodies: every server gets the level that Python's own run gives it, in the same order."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from real_classes import HEAD, LEVEL, fresh_name, imported, level_of, set_up, write

from memcheck_cli.audit.files import find
from memcheck_cli.audit.follow.modules import Library
from memcheck_cli.audit.follow.values import Unknown
from memcheck_cli.audit.model import LEVEL_VARIABLE
from memcheck_cli.audit.verdicts import Auditor

levels = st.sampled_from(("0", "1", "2", "-1", "cls.level", "cls.other"))
conditions = st.sampled_from(("True", "cls.yes", "not cls.yes", "cls.level == 1", "cls.level > cls.other", "None"))
simple = st.one_of(
    st.just("popen_launch_server('model', 'url')"),
    levels.map(lambda level: f"popen_launch_server('model', 'url', env={{'{LEVEL}': str({level})}})"),
    st.just("popen_launch_server('model', 'url', env=os.environ.copy())"),
    levels.map(lambda level: f"envs.{LEVEL}.set({level})"),
    st.just(f"envs.{LEVEL}.clear()"),
    levels.map(lambda level: f"os.environ['{LEVEL}'] = str({level})"),
    levels.map(lambda level: f"os.environ.setdefault('{LEVEL}', str({level}))"),
    levels.map(lambda level: f"os.environ.update({{'{LEVEL}': str({level}), 'OTHER_ONE': '5'}})"),
    st.just(f"os.environ.pop('{LEVEL}', None)"),
    levels.map(lambda level: f"cls.level = {level}"),
    levels.map(lambda level: f"cls.pairs = [*cls.pairs, {level}]"),
    levels.map(lambda level: f"cls.pairs.append({level})"),
    st.just("cls.pairs += [2]"),
    st.just("pass"),
)
calls = st.sampled_from(("cls.helper()", "cls.helper(2)", "cls.helper(level=0)", "return", "return cls.helper()"))


def block(lines: list[str]) -> str:
    return "".join("    " + line + "\n" for part in lines for line in part.splitlines())


def compound(children: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    blocks = st.lists(children, min_size=1, max_size=4).map(block)
    jumps = st.sampled_from(("", "    break\n", "    continue\n"))
    return st.one_of(
        st.tuples(levels, blocks).map(lambda t: f"with envs.{LEVEL}.override({t[0]}):\n{t[1]}"),
        st.tuples(levels, blocks).map(lambda t: f"with strict({t[0]}):\n{t[1]}"),
        st.tuples(levels, levels, blocks).map(
            lambda t: (
                "with contextlib.ExitStack() as stack:\n"
                f"    stack.enter_context(envs.{LEVEL}.override({t[0]}))\n"
                f"    stack.enter_context(strict({t[1]}))\n{t[2]}"
            )
        ),
        st.tuples(conditions, blocks).map(lambda t: f"if {t[0]}:\n{t[1]}"),
        st.tuples(conditions, blocks, blocks).map(lambda t: f"if {t[0]}:\n{t[1]}else:\n{t[2]}"),
        st.tuples(levels, levels, blocks, jumps, blocks).map(
            lambda t: f"for cls.level in ({t[0]}, {t[1]}):\n{t[2]}{t[3]}else:\n{t[4]}"
        ),
        st.tuples(blocks, conditions, jumps).map(
            lambda t: (
                f"for item in tuple(cls.pairs)[:3]:\n    cls.level = item\n    if {t[1]}:\n"
                f"    {t[2] or '    pass'}\n{t[0]}"
            )
        ),
        st.tuples(blocks, st.lists(simple, min_size=1, max_size=2).map(block)).map(
            lambda t: f"try:\n{t[0]}finally:\n{t[1]}"
        ),
    )


def bodies(leaves: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(st.recursive(leaves, compound, max_leaves=8), min_size=1, max_size=4).map(block)


@settings(max_examples=200, deadline=None)
@given(bodies(simple | calls), bodies(simple), st.lists(st.sampled_from((0, 1, 2)), max_size=3), st.booleans())
def test_every_server_gets_its_level(body: str, helper: str, pairs: list[int], wrapped: bool) -> None:
    indented = body.replace("    ", "        ", 1).replace("\n    ", "\n        ")
    inner = helper.replace("cls.level", "level").replace("\n    ", "\n        ").replace("    ", "        ", 1)
    decorator = f"    @envs.{LEVEL}.override(2)\n" if wrapped else ""
    source = f"""{HEAD}
@contextlib.contextmanager
def strict(level):
    before = os.environ.get("{LEVEL}")
    os.environ["{LEVEL}"] = str(level)
    try:
        yield
    finally:
        if before is None:
            os.environ.pop("{LEVEL}", None)
        else:
            os.environ["{LEVEL}"] = before

class TestIt(CustomTestCase):
    level, other, yes = 1, 2, True
    pairs = {pairs}

    @classmethod
    def helper(cls, level=1):
{inner.rstrip()}

    @classmethod
{decorator}    def setUpClass(cls):
{indented.rstrip()}

    def test_it(self): pass
"""
    module = fresh_name()
    with tempfile.TemporaryDirectory() as directory:
        root = write(Path(directory), {f"{module}.py": source})
        files, _, roots = find([directory])
        auditor = Auditor(Library(files, roots))
        (cls,) = auditor.classes_of(auditor.library.modules[0])
        trouble: list[Unknown] = []
        told = []
        for launch in auditor.launches_of(cls, trouble):
            value = launch.env.value(LEVEL_VARIABLE)
            assert not isinstance(value, Unknown), value.reason
            told.append(level_of({} if value is None else {LEVEL: value}))
        with imported(root) as load:
            assert told == set_up(load(module).TestIt)
    assert not trouble

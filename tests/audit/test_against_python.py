"""The audit's level equals the one that Python's own run of setUpClass gives the server."""

from __future__ import annotations

from pathlib import Path

import pytest
from real_classes import HEAD, LEVEL, MERGING, fresh_name, imported, merged_owner, python_levels, write

from memcheck_cli.audit import audit
from memcheck_cli.audit.model import AuditedClass


def told(root: Path) -> dict[str, AuditedClass]:
    return {entry.name: entry for entry in audit([str(root)]).classes}


def check(root: Path, module: str) -> dict[str, AuditedClass]:
    """Every test class of the module: decided, and as Python has it. Of several servers the least checked counts."""
    answers = told(root)
    levels = python_levels(root, module)
    assert levels
    for name, servers in levels.items():
        if servers:
            assert name in answers, name
            assert answers[name].level == min(servers), (name, servers, answers[name].reasons)
        else:
            assert name not in answers, name
    return answers


def one(tmp_path: Path, body: str, head: str = HEAD + MERGING) -> dict[str, AuditedClass]:
    module = fresh_name()
    write(tmp_path, {f"{module}.py": head + body})
    return check(tmp_path, module)


def test_entries_of_one_class(tmp_path: Path) -> None:
    answers = one(
        tmp_path,
        f"""
class TestNone(Server):
    def test_it(self): pass

class TestOne(TestNone):
    env_overrides = ((envs.{LEVEL}, 1),)

class TestTwo(TestNone):
    env_overrides = ((envs.SGLANG_TEST_RETRACT, True), (envs.{LEVEL}, 2))

class TestTwice(TestNone):
    env_overrides = ((envs.{LEVEL}, 2), (envs.{LEVEL}, 0))

class TestNegative(TestNone):
    env_overrides = ((envs.{LEVEL}, -1),)

class TestText(TestNone):
    env_overrides = ((envs.{LEVEL}, "2"),)

class TestTrue(TestNone):
    env_overrides = ((envs.{LEVEL}, True),)

class TestWord(TestNone):
    env_overrides = ((envs.{LEVEL}, "on"),)

class TestFloat(TestNone):
    env_overrides = ((envs.{LEVEL}, 1.0),)

class TestNoneValue(TestNone):
    env_overrides = ((envs.{LEVEL}, None),)

class TestComputed(TestNone):
    env_overrides = ((envs.{LEVEL}, 3 - 1),)
""",
    )
    verdicts = {name: entry.verdict for name, entry in answers.items()}
    assert verdicts["TestOne"] == "checked"
    assert verdicts["TestNone"] == "unchecked"
    assert verdicts["TestNegative"] == "checked"
    assert verdicts["TestTrue"] == "unchecked"
    assert any("no integer" in note.text for note in answers["TestTrue"].notes)
    assert answers["TestNone"].set_by is None
    assert answers["TestOne"].set_by == "TestOne"


def test_derived_classes(tmp_path: Path) -> None:
    answers = one(
        tmp_path,
        f"""
class Core(Server):
    env_overrides = ((envs.{LEVEL}, 1),)

class TestInherits(Core):
    def test_it(self): pass

class TestEmptyTuple(TestInherits):
    env_overrides = ()

class TestOtherVariable(TestEmptyTuple):
    env_overrides = ((envs.SGLANG_TEST_RETRACT, True),)

class TestRestates(TestInherits):
    env_overrides = Core.env_overrides + ((envs.SGLANG_TEST_RETRACT, True),)

class TestShadows(TestInherits):
    env_overrides = ((envs.{LEVEL}, 0),)

class TestBehindShadow(TestShadows):
    env_overrides = ()

class TestBack(TestBehindShadow):
    env_overrides = ((envs.{LEVEL}, 2),)

class TestTwice(TestInherits):
    env_overrides = ((envs.{LEVEL}, 0), (envs.{LEVEL}, 2))
""",
    )
    assert {name: entry.set_by for name, entry in answers.items()} == {
        "TestInherits": "Core",
        "TestEmptyTuple": "Core",
        "TestOtherVariable": "Core",
        "TestRestates": "TestRestates",
        "TestShadows": "TestShadows",
        "TestBehindShadow": "TestShadows",
        "TestBack": "TestBack",
        "TestTwice": "TestTwice",
    }
    assert [note.text for note in answers["TestTwice"].notes] == [
        "TestTwice shadows the level of Core",
        "TestTwice sets the level more than once; the last one counts",
    ]
    assert [note.text for note in answers["TestRestates"].notes] == ["TestRestates restates the level of Core"]
    assert [note.text for note in answers["TestShadows"].notes] == ["TestShadows shadows the level of Core"]
    writes = [(w.value, w.set_by, w.in_force) for w in answers["TestBack"].settings if w.name == LEVEL]
    assert writes == [("1", "Core", False), ("0", "TestShadows", False), ("2", "TestBack", True)]


def test_diamonds_and_mixins(tmp_path: Path) -> None:
    module = fresh_name()
    body = f"""
class Kit:
    def test_it(self): pass

class Left(Server):
    env_overrides = ((envs.{LEVEL}, 1),)

class Right(Server):
    env_overrides = ((envs.{LEVEL}, 2),)

class Plain(Server):
    pass

class LoudKit(Kit):
    env_overrides = ((envs.{LEVEL}, 2),)

class EmptyKit(Kit):
    env_overrides = ()

class TestLeftRight(Left, Right, Kit): pass
class TestRightLeft(Right, Left, Kit): pass
class TestPlainLeft(Plain, Left, Kit): pass
class TestKitFirst(Kit, Left): pass
class TestLoudFirst(LoudKit, Left): pass
class TestLoudLast(Left, LoudKit): pass
class TestEmptyFirst(EmptyKit, Left): pass
class TestDeep(TestLeftRight, TestLoudLast): pass
class TestOnlyKit(LoudKit, Server): pass
"""
    write(tmp_path, {f"{module}.py": HEAD + MERGING + body})
    answers = check(tmp_path, module)
    with imported(tmp_path) as load:
        loaded = load(module)
        for name, entry in answers.items():
            cls = getattr(loaded, name)
            assert entry.set_by == merged_owner(cls), name
            assert [base.name for base in entry.order] == [
                base.__name__.replace("TestCase", "CustomTestCase") for base in cls.__mro__
            ]


@pytest.mark.parametrize(
    "merge",
    [
        '[pair for owner in reversed(cls.__mro__) for pair in owner.__dict__.get("env_overrides", ())]',
        '[pair for owner in cls.__mro__[::-1] for pair in vars(owner).get("env_overrides", [])]',
        '[p for o in reversed(cls.mro()) if "env_overrides" in o.__dict__ for p in o.__dict__["env_overrides"]]',
        'sum((o.__dict__.get("env_overrides", ()) for o in reversed(cls.__mro__)), ())',
        'list(itertools.chain.from_iterable(vars(o).get("env_overrides", ()) for o in reversed(cls.__mro__)))',
        "cls.gather()",
        "cls.generate()",
        "gather(cls)",
        '{f.name: (f, v) for o in reversed(cls.__mro__) for f, v in vars(o).get("env_overrides", ())}.values()',
    ],
)
def test_ways_to_merge(tmp_path: Path, merge: str) -> None:
    head = f"""{HEAD}
import itertools

def gather(cls):
    pairs = ()
    for owner in reversed(cls.__mro__):
        own = owner.__dict__.get("env_overrides")
        if not own:
            continue
        pairs += own
    return pairs

class Server(CustomTestCase):
    env_overrides = ()

    @classmethod
    def gather(cls):
        merged = []
        for owner in reversed(cls.__mro__):
            if owner is object:
                continue
            merged.extend(owner.__dict__.get("env_overrides", ()))
        return merged

    @classmethod
    def generate(cls):
        for owner in reversed(cls.__mro__):
            yield from owner.__dict__.get("env_overrides", ())

    @classmethod
    def setUpClass(cls):
        with contextlib.ExitStack() as stack:
            for pair in {merge}:
                field, value = pair
                stack.enter_context(field.override(value))
            popen_launch_server("model", "url")
        popen = None
"""
    one(
        tmp_path,
        f"""
class Core(Server):
    env_overrides = ((envs.{LEVEL}, 1), (envs.SGLANG_TEST_RETRACT, True))
class TestCore(Core):
    env_overrides = ()
    def test_it(self): pass
class TestOff(TestCore):
    env_overrides = ((envs.{LEVEL}, 0),)
class TestLoud(TestOff):
    env_overrides = ((envs.{LEVEL}, 2),)
""",
        head,
    )


@pytest.mark.parametrize(
    "expression",
    [
        f"((envs.{LEVEL}, 1),)",
        f"[(envs.{LEVEL}, 1)]",
        "(PAIR,)",
        "PAIRS",
        "PAIRS + OTHERS",
        "OTHERS + PAIRS",
        "(*OTHERS, *PAIRS)",
        "Core.env_overrides + PAIRS",
        "(*Core.env_overrides, PAIR)",
        "PAIRS + Core.env_overrides",
        "tuple(OTHERS) + tuple([PAIR])",
        "((CHECK, 1), (CHECK, VALUE))",
        "tuple((field, VALUE) for field in (CHECK, envs.SGLANG_TEST_RETRACT))",
        f"((getattr(envs, '{LEVEL}'), 1),)",
        "PAIRS if True else ()",
        "PAIRS * 2",
        "PAIRS[:1]",
        "(PAIRS or OTHERS)",
        "make(2)",
        "tuple(sorted(PAIRS))",
        "dict([PAIR]) and PAIRS",
        "tuple({'a': PAIR}.values())",
        "(lambda level: ((CHECK, level),))(2)",
    ],
)
def test_ways_to_write_a_tuple(tmp_path: Path, expression: str) -> None:
    answers = one(
        tmp_path,
        f"""
CHECK = envs.{LEVEL}
VALUE = 2
PAIR = (CHECK, VALUE)
PAIRS = (PAIR,)
OTHERS = ((envs.SGLANG_TEST_RETRACT, True),)

def make(level):
    return ((CHECK, level),)

class Core(Server):
    env_overrides = ((envs.{LEVEL}, -1),)

class TestIt(Core):
    env_overrides = {expression}
    def test_it(self): pass
""",
    )
    assert answers["TestIt"].set_by == "TestIt"


@pytest.mark.parametrize(
    "statements",
    [
        f"TestIt.env_overrides = ((envs.{LEVEL}, 2),)",
        f"TestIt.env_overrides += ((envs.{LEVEL}, 2),)",
        f"setattr(TestIt, 'env_overrides', ((envs.{LEVEL}, 2),))",
        "del TestIt.env_overrides",
        f"Core.env_overrides = ((envs.{LEVEL}, 2),)",
        f"for cls in (Core, TestIt):\n    cls.env_overrides = ((envs.{LEVEL}, 2),)",
        f"if 1 < 2:\n    TestIt.env_overrides = ((envs.{LEVEL}, 2),)\nelse:\n    TestIt.env_overrides = nothing",
        f"try:\n    TestIt.env_overrides = ((envs.{LEVEL}, 2),)\nfinally:\n    pass",
        f"def loud(cls):\n    cls.env_overrides = ((envs.{LEVEL}, 2),)\n    return cls\n\n"
        "@loud\nclass TestLoud(TestIt): pass",
        "TestMade = type('TestMade', (TestIt,), {'env_overrides': ()})",
        f"TestMade = type('TestMade', (TestIt,), dict(env_overrides=((envs.{LEVEL}, 2),)))",
        f"def make(level):\n    class TestInner(Core):\n        env_overrides = ((envs.{LEVEL}, level),)\n"
        "        def test_it(self): pass\n    return TestInner\n\nTestMade = make(2)",
    ],
)
def test_changes_after_the_class(tmp_path: Path, statements: str) -> None:
    module = fresh_name()
    body = f"""
class Core(Server):
    env_overrides = ((envs.{LEVEL}, 1),)

class TestIt(Core):
    env_overrides = ((envs.SGLANG_TEST_RETRACT, True),)
    def test_it(self): pass

{statements}
"""
    write(tmp_path, {f"{module}.py": HEAD + MERGING + body})
    levels = python_levels(tmp_path, module)
    answers = told(tmp_path)
    by_name = {name: levels[name] for name in levels if name in answers}
    assert "TestIt" in by_name
    assert {name: [answers[name].level] for name in by_name} == by_name
    assert len(answers) == len(levels)


def test_hook_of_a_base(tmp_path: Path) -> None:
    one(
        tmp_path,
        f"""
class Core(Server):
    def __init_subclass__(cls, level=1, **kwargs):
        super().__init_subclass__(**kwargs)
        cls.env_overrides = ((envs.{LEVEL}, level),)

class TestDefault(Core):
    def test_it(self): pass

class TestGiven(TestDefault, level=2):
    pass
""",
    )


def test_list_of_names_is_not_merged(tmp_path: Path) -> None:
    head = f"""{HEAD}
class Server(CustomTestCase):
    env_overrides: list = []

    @classmethod
    def setUpClass(cls):
        with contextlib.ExitStack() as stack:
            stack.enter_context(envs.{LEVEL}.override(1))
            for name, value in cls.env_overrides:
                stack.enter_context(getattr(envs, name).override(value))
            popen_launch_server("model", "url", timeout=1)
"""
    answers = one(
        tmp_path,
        f"""
class TestPlain(Server):
    def test_it(self): pass
class TestLoud(TestPlain):
    env_overrides = [("SGLANG_TEST_RETRACT", True), ("{LEVEL}", 2)]
class TestBack(TestLoud):
    env_overrides = [("SGLANG_TEST_RETRACT", True)]
class TestInherits(TestLoud):
    pass
class TestOff(TestLoud):
    env_overrides = [("{LEVEL}", 0)]
""",
        head,
    )
    assert {name: entry.set_by for name, entry in answers.items()} == {
        "TestPlain": "Server",
        "TestLoud": "TestLoud",
        "TestBack": "Server",
        "TestInherits": "TestLoud",
        "TestOff": "TestOff",
    }


LAUNCH = "popen_launch_server('model', 'url', timeout=1)"
AROUND = {
    "with": f"with envs.{LEVEL}.override(1):\n    {LAUNCH}",
    "with two": f"with envs.SGLANG_TEST_RETRACT.override(1), envs.{LEVEL}.override(2):\n    {LAUNCH}",
    "with nested": f"with envs.{LEVEL}.override(1):\n    with envs.{LEVEL}.override(0):\n        {LAUNCH}",
    "with left": f"with envs.{LEVEL}.override(1):\n    pass\n{LAUNCH}",
    "with inner left": f"with envs.{LEVEL}.override(1):\n    with envs.{LEVEL}.override(0):\n        pass\n"
    f"    {LAUNCH}",
    "set": f"envs.{LEVEL}.set(2)\n{LAUNCH}",
    "set cleared": f"envs.{LEVEL}.set(2)\nenvs.{LEVEL}.clear()\n{LAUNCH}",
    "environ": f"os.environ['{LEVEL}'] = '1'\n{LAUNCH}",
    "environ default": f"os.environ.setdefault('{LEVEL}', '1')\n{LAUNCH}",
    "environ default late": f"os.environ['{LEVEL}'] = '2'\nos.environ.setdefault('{LEVEL}', '1')\n{LAUNCH}",
    "environ update": f"os.environ.update({{'{LEVEL}': '2'}})\n{LAUNCH}",
    "environ update kwargs": f"os.environ.update({LEVEL}='2')\n{LAUNCH}",
    "environ |=": f"os.environ |= {{'{LEVEL}': '2'}}\n{LAUNCH}",
    "environ pop": f"os.environ['{LEVEL}'] = '1'\nos.environ.pop('{LEVEL}', None)\n{LAUNCH}",
    "environ del": f"os.environ['{LEVEL}'] = '1'\ndel os.environ['{LEVEL}']\n{LAUNCH}",
    "environ after": f"{LAUNCH}\nos.environ['{LEVEL}'] = '1'",
    "environ asked": f"if '{LEVEL}' not in os.environ:\n    os.environ['{LEVEL}'] = '1'\n{LAUNCH}",
    "env": f"popen_launch_server('model', 'url', env={{'{LEVEL}': '1'}})",
    "env over with": f"with envs.{LEVEL}.override(1):\n    popen_launch_server('m', 'u', env={{'{LEVEL}': '0'}})",
    "env beside with": f"with envs.{LEVEL}.override(1):\n    popen_launch_server('m', 'u', env={{'OTHER_ONE': '0'}})",
    "env copy": f"env = os.environ.copy()\nenv['{LEVEL}'] = '2'\npopen_launch_server('model', 'url', env=env)",
    "env spread": f"popen_launch_server('model', 'url', env={{**os.environ, '{LEVEL}': '2'}})",
    "env or": f"popen_launch_server('model', 'url', env=os.environ | {{'{LEVEL}': '2'}})",
    "env dict": f"popen_launch_server('model', 'url', env=dict(os.environ, {LEVEL}='2'))",
    "env None": "popen_launch_server('model', 'url', env=None)",
    "env attribute": "popen_launch_server('model', 'url', env=cls.environment)",
    "env kwargs": "kwargs = dict(timeout=1)\nif cls.environment:\n    kwargs['env'] = cls.environment\n"
    "popen_launch_server('model', 'url', **kwargs)",
    "env positional": f"popen_launch_server('model', 'url', 1, None, [], {{'{LEVEL}': '1'}})",
    "patch.dict": f"with unittest.mock.patch.dict(os.environ, {{'{LEVEL}': '1'}}):\n    {LAUNCH}",
    "patch.dict by name": f"with patch.dict('os.environ', {LEVEL}='1'):\n    {LAUNCH}",
    "patch.dict clear": f"os.environ['{LEVEL}'] = '1'\nwith patch.dict(os.environ, {{}}, clear=True):\n    {LAUNCH}",
    "context manager": f"with strict(2):\n    {LAUNCH}",
    "context manager twice": f"with strict(2), strict(0):\n    {LAUNCH}",
    "context class": f"with Strict(2):\n    {LAUNCH}",
    "stack": f"with contextlib.ExitStack() as stack:\n    stack.enter_context(envs.{LEVEL}.override(1))\n    {LAUNCH}",
    "stack left": f"with contextlib.ExitStack() as stack:\n    stack.enter_context(envs.{LEVEL}.override(1))\n{LAUNCH}",
    "stack kept": f"stack = contextlib.ExitStack()\nstack.enter_context(envs.{LEVEL}.override(1))\n{LAUNCH}\n"
    "stack.close()",
    "stack closed": f"stack = contextlib.ExitStack()\nstack.enter_context(envs.{LEVEL}.override(1))\nstack.close()\n"
    f"{LAUNCH}",
    "enter": f"context = envs.{LEVEL}.override(1)\ncontext.__enter__()\n{LAUNCH}",
    "class context": f"cls.enterClassContext(envs.{LEVEL}.override(1))\n{LAUNCH}\ncls.doClassCleanups()",
    "nullcontext": f"with contextlib.nullcontext():\n    {LAUNCH}",
    "chosen": f"with envs.{LEVEL}.override(1) if cls.strict else contextlib.nullcontext():\n    {LAUNCH}",
    "method": "cls.launch(2)",
    "method by keyword": "cls.launch(level=2)",
    "function": "launch_at(2)",
    "partial": "functools.partial(launch_at, 2)()",
    "nested function": f"def inner(level):\n    with envs.{LEVEL}.override(level):\n        return {LAUNCH}\ninner(1)",
    "lambda": "(lambda: launch_at(2))()",
    "decorated function": "decorated()",
    "wrapped function": "wrapped()",
    "loop": f"for field, value in ((envs.{LEVEL}, 0), (envs.{LEVEL}, 2)):\n    field.set(value)\n{LAUNCH}",
    "loop break": f"for level in (1, 2):\n    envs.{LEVEL}.set(level)\n    if level == 1:\n        break\n{LAUNCH}",
    "loop continue": f"for level in (2, 0):\n    if level == 0:\n        continue\n    envs.{LEVEL}.set(level)\n"
    f"{LAUNCH}",
    "loop else": f"for level in ():\n    pass\nelse:\n    envs.{LEVEL}.set(1)\n{LAUNCH}",
    "while": f"while False:\n    envs.{LEVEL}.set(1)\n{LAUNCH}",
    "return": f"with envs.{LEVEL}.override(1):\n    if cls.strict:\n        return {LAUNCH}\n{LAUNCH}",
    "try": f"try:\n    with envs.{LEVEL}.override(1):\n        {LAUNCH}\nexcept ValueError:\n    raise\n"
    "finally:\n    pass",
    "try finally": f"os.environ['{LEVEL}'] = '1'\ntry:\n    {LAUNCH}\nfinally:\n    os.environ.pop('{LEVEL}')",
    "loop of dict": f"for name, value in {{'{LEVEL}': '1'}}.items():\n    os.environ[name] = value\n{LAUNCH}",
    "attribute dict": "for name, value in cls.environment.items():\n    os.environ[name] = value\n" + LAUNCH,
    "renamed": f"name = 'SGLANG_' + 'ENABLE_STRICT_MEM_CHECK_DURING_BUSY'\nos.environ[name] = '1'\n{LAUNCH}",
    "format": f"os.environ[f'SGLANG_{{cls.tail}}'] = '1'\n{LAUNCH}",
    "put back": f"old = os.environ.get('{LEVEL}')\nos.environ['{LEVEL}'] = '1'\n{LAUNCH}\n"
    f"if old is None:\n    os.environ.pop('{LEVEL}')\nelse:\n    os.environ['{LEVEL}'] = old",
    "two servers": f"with envs.{LEVEL}.override(2):\n    {LAUNCH}\nwith envs.{LEVEL}.override(1):\n    {LAUNCH}",
    "two servers, one bare": f"with envs.{LEVEL}.override(2):\n    {LAUNCH}\n{LAUNCH}",
    "condition": f"if cls.strict and not cls.lax:\n    envs.{LEVEL}.set(1)\n{LAUNCH}",
    "unpacked": f"(field, *_), level = (envs.{LEVEL}, 1, 2), 2\nfield.set(level)\n{LAUNCH}",
    "no server": "pass",
}


@pytest.mark.parametrize("way", AROUND)
def test_ways_around_a_launch(tmp_path: Path, way: str) -> None:
    indented = AROUND[way].replace("\n", "\n        ")
    one(
        tmp_path,
        f"""
import functools
import unittest.mock
from unittest.mock import patch

@contextlib.contextmanager
def strict(level):
    with envs.{LEVEL}.override(level):
        yield

class Strict:
    def __init__(self, level):
        self.level = level
    def __enter__(self):
        os.environ["{LEVEL}"] = str(self.level)
    def __exit__(self, *details):
        del os.environ["{LEVEL}"]

def launch_at(level):
    with envs.{LEVEL}.override(level):
        return {LAUNCH}

@envs.{LEVEL}.override(2)
def decorated():
    {LAUNCH}

def loud(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        with strict(2):
            return function(*args, **kwargs)
    return inner

@loud
def wrapped():
    {LAUNCH}

class TestIt(CustomTestCase):
    strict, lax, tail = True, False, "ENABLE_STRICT_MEM_CHECK_DURING_BUSY"
    environment = {{"{LEVEL}": "2"}}

    @classmethod
    def launch(cls, level=0):
        with envs.{LEVEL}.override(level):
            {LAUNCH}

    @classmethod
    def setUpClass(cls):
        {indented}

    def test_it(self): pass
""",
        HEAD,
    )


def test_super_and_wrapping_set_ups(tmp_path: Path) -> None:
    answers = one(
        tmp_path,
        f"""
class Base(CustomTestCase):
    @classmethod
    def setUpClass(cls):
        popen_launch_server("model", "url")
    def test_it(self): pass

class TestAround(Base):
    @classmethod
    def setUpClass(cls):
        with envs.{LEVEL}.override(1):
            super().setUpClass()

class Mixin:
    @classmethod
    def setUpClass(cls):
        with envs.{LEVEL}.override(2):
            super(Mixin, cls).setUpClass()

class TestMixed(Mixin, Base): pass
class TestMixedLast(Base, Mixin): pass
class TestBoth(Mixin, TestAround): pass

class TestDrops(Server):
    env_overrides = ((envs.{LEVEL}, 1),)
    @classmethod
    def setUpClass(cls):
        popen_launch_server("model", "url")
    def test_it(self): pass

class TestDecorated(Base):
    @classmethod
    @envs.{LEVEL}.override(2)
    def setUpClass(cls):
        super().setUpClass()
""",
    )
    assert answers["TestAround"].set_by == "TestAround"
    assert answers["TestMixed"].set_by == "Mixin"
    assert answers["TestBoth"].set_by == "TestAround"
    assert answers["TestDecorated"].set_by == "TestDecorated"
    assert answers["TestDrops"].verdict == "unchecked"
    assert [note.text for note in answers["TestDrops"].notes] == [
        "TestDrops declares a level that TestDrops, which starts the server, does not apply"
    ]


IMPORTS = {
    "from": ("from {package}.servers import Core", "Core"),
    "from as": ("from {package}.servers import Core as Base", "Base"),
    "module": ("import {package}.servers", "{package}.servers.Core"),
    "module as": ("import {package}.servers as s", "s.Core"),
    "from package": ("from {package} import servers", "servers.Core"),
    "from package as": ("from {package} import servers as s", "s.Core"),
    "relative": ("from .servers import Core", "Core"),
    "relative module": ("from . import servers", "servers.Core"),
    "star": ("from {package}.servers import *", "Core"),
    "re-exported": ("from {package}.deep.again import Renamed", "Renamed"),
    "relative up": ("from .deep.up import Core", "Core"),
    "in try": ("try:\n    from {package}.servers import Core\nexcept ImportError:\n    Core = object", "Core"),
    "by assignment": ("import {package}.servers as s\nBase = s.Core", "Base"),
    "through init": ("from {package} import Core", "Core"),
    "starred bases": ("from {package}.servers import Core\nBASES = (Core,)", "*BASES"),
    "from a list": ("from {package}.servers import Core\nBASES = [object, Core]", "BASES[1]"),
}


@pytest.mark.parametrize("way", IMPORTS)
def test_ways_to_import_a_base(tmp_path: Path, way: str) -> None:
    package = fresh_name()
    statement, base = (part.format(package=package) for part in IMPORTS[way])
    core = f"\nclass Core(Server):\n    env_overrides = ((envs.{LEVEL}, 2),)\n"
    write(
        tmp_path,
        {
            f"{package}/__init__.py": "from .servers import Core\n",
            f"{package}/servers.py": HEAD + MERGING + core,
            f"{package}/deep/__init__.py": "",
            f"{package}/deep/again.py": f"from {package}.servers import Core as Renamed\n",
            f"{package}/deep/up.py": "from ..servers import Core\n",
            f"{package}/test_it.py": f"{statement}\n\nclass TestIt({base}):\n    def test_it(self): pass\n",
        },
    )
    answers = check(tmp_path, f"{package}.test_it")
    assert answers["TestIt"].set_by == "Core"
    assert answers["TestIt"].file.endswith("test_it.py")
    assert (answers["TestIt"].set_file or "").endswith("servers.py")


def test_module_level_environment(tmp_path: Path) -> None:
    module, plain, helper = fresh_name(), fresh_name(), fresh_name()
    test = "\nclass TestIt(Server):\n    def test_it(self): pass\n"
    write(
        tmp_path,
        {
            f"{helper}.py": f"import os\nos.environ['{LEVEL}'] = '2'\n",
            f"{module}.py": f"import {helper}\n" + HEAD + MERGING + test,
            f"{plain}.py": HEAD + MERGING + test.replace("TestIt", "TestPlain"),
        },
    )
    assert python_levels(tmp_path, module) == {"TestIt": [2]}
    answers = told(tmp_path)
    assert (answers["TestIt"].level, answers["TestIt"].set_by) == (2, None)
    assert answers["TestIt"].set_how == "os.environ"
    assert answers["TestPlain"].level == 0


def test_decorators_of_a_set_up(tmp_path: Path) -> None:
    answers = one(
        tmp_path,
        f"""
import functools

@contextlib.contextmanager
def checked(level):
    with envs.{LEVEL}.override(level):
        yield

class Checked(contextlib.ContextDecorator):
    def __init__(self, level):
        self.level = level
    def __enter__(self):
        envs.{LEVEL}.set(self.level)
    def __exit__(self, *error):
        envs.{LEVEL}.clear()

def at_level(level):
    def decorate(function):
        @functools.wraps(function)
        def inner(*args, **kwargs):
            with envs.{LEVEL}.override(level):
                return function(*args, **kwargs)
        return inner
    return decorate

class Plain(CustomTestCase):
    def test_it(self): pass

    @classmethod
    def launch(cls):
        popen_launch_server("model", "url", timeout=1)

class TestField(Plain):
    @classmethod
    @envs.{LEVEL}.override(2)
    def setUpClass(cls):
        popen_launch_server("model", "url", timeout=1)

class TestGenerator(Plain):
    @classmethod
    @checked(2)
    def setUpClass(cls):
        popen_launch_server("model", "url", timeout=1)

class TestGeneratorAgain(TestGenerator):
    pass

class TestGeneratorInside(TestGenerator):
    @classmethod
    @checked(1)
    def setUpClass(cls):
        super().setUpClass()

class TestClass(Plain):
    @classmethod
    @Checked(3)
    def setUpClass(cls):
        cls.launch()

class TestFunction(Plain):
    @classmethod
    @at_level(2)
    def setUpClass(cls):
        popen_launch_server("model", "url", timeout=1)

class TestBoth(Plain):
    @classmethod
    @at_level(2)
    @checked(1)
    def setUpClass(cls):
        popen_launch_server("model", "url", timeout=1)

class TestNamed(Plain):
    setUpClass = classmethod(at_level(1)(lambda cls: popen_launch_server("model", "url", timeout=1)))
""",
    )
    assert {name: entry.set_by for name, entry in answers.items()} == {
        "TestField": "TestField",
        "TestGenerator": "TestGenerator",
        "TestGeneratorAgain": "TestGenerator",
        "TestGeneratorInside": "TestGenerator",
        "TestClass": "Checked",
        "TestFunction": "TestFunction",
        "TestBoth": "TestBoth",
        "TestNamed": "TestNamed",
    }


def test_pairs_made_from_a_dict(tmp_path: Path) -> None:
    answers = one(
        tmp_path,
        f"""
PAIRS = {{envs.{LEVEL}: 1, envs.SGLANG_TEST_RETRACT: True}}

class TestItems(Server):
    env_overrides = tuple(PAIRS.items())
    def test_it(self): pass

class TestMore(TestItems):
    env_overrides = list({{**PAIRS, envs.{LEVEL}: 2}}.items())
""",
    )
    assert {name: entry.set_by for name, entry in answers.items()} == {"TestItems": "TestItems", "TestMore": "TestMore"}

"""Files that are broken, endless or malicious: told as skipped or undecided, never a traceback."""

from __future__ import annotations

import contextlib
import os
import tempfile
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from real_classes import HEAD, LEVEL, MERGING, write

from memcheck_cli.audit import audit
from memcheck_cli.audit.files import MAX_BYTES
from memcheck_cli.errors import MemcheckError, UnreadableError

GOOD = HEAD + MERGING + "\nclass TestGood(Server):\n    def test_it(self): pass\n"
SAMPLES = Path(__file__).parents[2] / "samples" / "spec_tests"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return write(tmp_path, {"test_good.py": GOOD})


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"class Broken(:\n", "no Python"),
        (b"print 'two'\n", "no Python"),
        (b"class A:\n\tdef a(self): pass\n        def b(self): pass\n", "no Python"),
        (b"class A: pass\x00\n", ""),
        (b"# \xff\xfe\nclass A: pass\n", "no Python"),
        (b"class A: pass\n\n\n# \xff\xfe\n", "not utf-8 (byte 18)"),
        (b"# -*- coding: nonsense -*-\nclass A: pass\n", "no Python"),
        ("class A: pass\n".encode("utf-16"), ""),
        (b"class A:\n    x = " + b"(" * 5000 + b")" * 5000 + b"\n", ""),
        (b"class A:\n    x = " + b"-" * 200_000 + b"1\n", ""),
        (b"class A:\n    x = " + b"9" * 5000 + b"\n", "no Python"),
        (b"\n".join(b" " * depth + b"if x:" for depth in range(200)) + b"\nclass A: pass\n", "no Python"),
        (b"bare = (", "no Python"),
    ],
)
def test_unparsable_files_are_told(tree: Path, content: bytes, reason: str) -> None:
    (tree / "test_bad.py").write_bytes(content)
    answer = audit([str(tree)])
    assert [entry.name for entry in answer.classes] == ["TestGood"]
    assert [entry.file for entry in answer.skipped] == [str(tree / "test_bad.py")]
    assert reason in answer.skipped[0].reason


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xef\xbb\xbfclass A: pass\n",
        "# -*- coding: latin-1 -*-\nclass \xe9: pass\n".encode("latin-1"),
        b"class A: pass\r\n",
        b"class A: '\\d'\n",
    ],
)
def test_odd_files_are_read(tree: Path, content: bytes) -> None:
    (tree / "test_odd.py").write_bytes(content)
    assert audit([str(tree)]).skipped == ()


@pytest.mark.parametrize(
    "body",
    [
        "x = " + "+".join("1" for _ in range(3000)),
        "x = a" + ".b" * 2000,
        "x = a" + "()" * 2000,
        "x = " + "[" * 150 + "]" * 150,
        "x = " + "not " * 500 + "1",
        "x = 'a' * 10**9",
        "x = [1] * 10**9",
        "x = (1,)\n    for i in range(100): x = x + x",
        "x = 'a'\n    for i in range(100): x = x + x",
        "x = 'a'\n    for i in range(100): x = f'{x}{x}'",
        "x = ('a',)\n    for i in range(60): x = (x, x)",
        "x = {'A_B': ()}\n    for i in range(60): x = {'A_B': (x, x)}",
        "x = 10**10**10",
        "x = 1 << 10**10",
        f"x = 0x{'f' * 100_000}\n    y = str(x)\n    env_overrides = ((envs.SGLANG_LOG_MS, x),)",
        "x = int('f' * 90000, 16)\n    y = f'{x}'",
        "x = -0x" + "f" * 2000 + "\n    y = x * x * x",
        "x = [b for a in range(9999) for b in range(9999)]",
        "x = list(zip(range(9999), range(9999)))",
        "x = range(10**30)\n    y = list(x)",
        "while True: pass",
        "while True:\n        if x: break",
        "for x in x: pass",
        "x = '\\ud800'\n    env_overrides = ((envs.SGLANG_LOG_MS, x), (envs.SGLANG_LOG_GC, '\\x1b[31m'))",
        "x = yield",
        "return 1",
        "def x(self): return self.x(self.x(self.x()))",
        "x, *y = 1, 2, 3\n    *z, = ()\n    a, b = 1\n    (c, d), e = 1, 2",
        "x = [][0]\n    y = {}['a']\n    z = ''[3]\n    a = ()[::0]",
        "x = 1 / 0\n    y = 1 % 0\n    z = 1e308 * 1e308\n    a = 'a' % ()",
        "del nothing\n    del x.y, x[0]",
        "x = lambda *a, b=1, **c: x(*a, **c)\n    y = x(x)",
        "super().x()\n    x = super(1)",
        "x = getattr(1)\n    setattr(x)\n    y = type(1, 2, 3)\n    z = isinstance(1)",
        "match 1:\n        case [a, *b]: pass\n        case {'x': y}: x = y\n        case _: pass",
        "import a.b.c, ..d" if False else "from . import x\n    from .. import y\n    from .....z import w",
        "global x\n    x = 1\n    nonlocal_ = 2",
        "async def x(self):\n        async with y as z: await z\n        async for a in b: yield a",
        "with x as y, z as (a, b): pass",
        "try: pass\n    except* ValueError: pass",
        "print(x := 1)",
        "x: int\n    y: int = 1\n    x.z: int = 1",
    ],
)
def test_nasty_bodies(tmp_path: Path, body: str) -> None:
    source = f"{GOOD}\nclass TestNasty(Server):\n    def test_it(self): pass\n    {body}\n"
    method = body.replace("\n    ", "\n        ")
    source += f"\nclass TestMethod(Server):\n    @classmethod\n    def setUpClass(cls):\n        {method}\n"
    source += "        popen_launch_server('model', 'url')\n    def test_it(self): pass\n"
    write(tmp_path, {"test_it.py": source, "other.py": ""})
    answer = audit([str(tmp_path)])
    names = {entry.name for entry in answer.classes}
    assert "TestGood" in names or answer.skipped
    for entry in answer.classes:
        for setting in entry.settings:
            (setting.value or "").encode("utf-8")


@pytest.mark.parametrize(
    "source",
    [
        "class TestA(TestA): pass\n",
        "class A(B): pass\nclass B(A): pass\nclass TestC(A, B):\n    def test_it(self): pass\n",
        "def again(): return again()\nclass TestA(Server):\n    env_overrides = again()\n    def test_it(self): pass\n",
        "def a(): return b()\ndef b(): return a()\nclass TestA(Server):\n    env_overrides = a()\n"
        "    def test_it(self): pass\n",
        "class A(Server):\n    def __init_subclass__(cls):\n        class B(A): pass\nclass TestC(A):\n"
        "    def test_it(self): pass\n",
        "class TestA(Server):\n    @property\n    def x(self): return self.x\n    def setUp(self):\n"
        "        self.x; popen_launch_server(1)\n    def test_it(self): pass\n",
        "class TestA(Server):\n    @classmethod\n    def setUpClass(cls):\n        super().setUpClass()\n"
        "        cls.setUpClass()\n    def test_it(self): pass\n",
        "x = [1]\nx.append(x)\nclass TestA(Server):\n    env_overrides = x\n    def test_it(self): pass\n",
        "x = {}\nx['A_B'] = x\nclass TestA(Server):\n    env_overrides = x\n    env = x\n    def test_it(self): pass\n",
        "from test_it import *\nfrom test_it import x as y\nimport test_it as z\nclass TestA(z.y): pass\n",
        "envs = envs\nclass TestA(envs): pass\n",
        "class TestA(*[Server] * 5000):\n    def test_it(self): pass\n",
        "\n".join(f"class A{n}({f'A{n - 1}' if n else 'Server'}): pass" for n in range(400))
        + "\nclass TestA(A399):\n    def test_it(self): pass\n",
    ],
)
def test_loops_and_recursion(tmp_path: Path, source: str) -> None:
    write(tmp_path, {"test_it.py": HEAD + MERGING + source, "test_good.py": GOOD})
    assert "TestGood" in {entry.name for entry in audit([str(tmp_path)]).classes}


def test_imports_in_a_circle(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "a.py": f"from b import x\nfrom b import *\nimport os\nos.environ['{LEVEL}'] = '1'\nclass A(x): pass\n",
            "b.py": f"from a import x\nfrom a import *\nimport a\nMARK = '{LEVEL}'\nclass B(a.A): pass\n",
            "test_it.py": "from b import B\nclass TestIt(B):\n    def test_it(self): pass\n",
        },
    )
    (entry,) = audit([str(tmp_path)]).classes
    assert entry.verdict == "undecided"


def test_long_chain_of_imports(tmp_path: Path) -> None:
    files = {f"m{n}.py": f"from m{n + 1} import Server\n" for n in range(300)}
    write(tmp_path, {**files, "m300.py": HEAD + MERGING})
    write(tmp_path, {"test_it.py": "from m0 import Server\nclass TestIt(Server):\n    def test_it(self): pass\n"})
    (entry,) = audit([str(tmp_path)]).classes
    assert entry.verdict in ("unchecked", "undecided")


def test_links(tree: Path) -> None:
    (tree / "loop").symlink_to(tree)
    (tree / "self.py").symlink_to(tree / "self.py")
    (tree / "gone.py").symlink_to(tree / "nowhere.py")
    (tree / "test_again.py").symlink_to(tree / "test_good.py")
    answer = audit([str(tree)])
    assert [entry.name for entry in answer.classes] == ["TestGood"]
    assert {Path(entry.file).name for entry in answer.skipped} == {"loop", "self.py", "gone.py"}
    assert answer.files == 1


def test_special_and_large_files(tree: Path) -> None:
    os.mkfifo(tree / "test_fifo.py")
    with (tree / "test_large.py").open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    answer = audit([str(tree)])
    assert [entry.name for entry in answer.classes] == ["TestGood"]
    assert sorted(entry.reason for entry in answer.skipped) == ["larger than 4 MiB", "not a regular file"]


def test_left_out_directories(tree: Path) -> None:
    write(tree, dict.fromkeys((".venv/test_a.py", "__pycache__/test_b.py", "x/node_modules/test_c.py"), GOOD))
    assert audit([str(tree)]).files == 1


def test_odd_names(tree: Path) -> None:
    name = os.fsencode(tree) + b"/test_\xff\x1b[31m\n.py"
    Path(os.fsdecode(name)).write_text(GOOD)
    files = [entry.file for entry in audit([str(tree)]).classes]
    assert len(files) == 2
    for file in files:
        file.encode("utf-8")


@pytest.mark.parametrize("make", ["missing", "empty", "broken", "text"])
def test_nothing_to_read(tmp_path: Path, make: str) -> None:
    path = tmp_path / "it.py"
    if make == "broken":
        path.write_text("class (")
    elif make == "text":
        (tmp_path / "notes.txt").write_text("no source")
    with pytest.raises(UnreadableError):
        audit([str(path) if make == "missing" else str(tmp_path)])


def test_odd_paths(tree: Path) -> None:
    for path in ("\0", "x" * 5000, ""):
        with pytest.raises(UnreadableError):
            audit([path])


def test_nothing_is_executed(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    write(tmp_path, {"test_it.py": f"open({str(mark)!r}, 'w').close()\n{GOOD}"})
    assert audit([str(tmp_path)]).classes
    assert not mark.exists()


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=300) | st.text(max_size=300).map(lambda text: text.encode("utf-8", "replace")))
def test_any_bytes(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as directory:
        write(Path(directory), {"test_good.py": GOOD})
        (Path(directory) / "test_any.py").write_bytes(b"class TestX:\n " + content)
        assert "TestGood" in {entry.name for entry in audit([directory]).classes}


LINES = [
    line for path in sorted(SAMPLES.rglob("*.py")) for line in path.read_text().splitlines() if line.strip()
] + MERGING.splitlines()


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_mangled_sources(data: st.DataObject) -> None:
    """Lines of real tests in any order and indentation: most of it parses by halves, nothing may raise."""
    picked = data.draw(st.lists(st.tuples(st.sampled_from(LINES), st.integers(0, 2)), max_size=25))
    body = "\n".join("    " * depth + line.strip() for line, depth in picked)
    source = data.draw(st.sampled_from(("", "if x:\n    pass\n", "class TestX(Server):\n    pass\n"))) + body + "\n"
    with tempfile.TemporaryDirectory() as directory:
        (Path(directory) / "test_x.py").write_text(HEAD + MERGING + source)
        with contextlib.suppress(MemcheckError):
            audit([directory])


@pytest.mark.parametrize("encoding", ["rot13", "hex", "zlib", "undefined", "punycode", "no-such"])
def test_encodings_that_give_no_text(tree: Path, encoding: str) -> None:
    (tree / "test_odd.py").write_bytes(f"# -*- coding: {encoding} -*-\n".encode() + b"aa-\x1b\n9z9\n" + GOOD.encode())
    answer = audit([str(tree)])
    assert "TestGood" in {entry.name for entry in answer.classes}
    (skipped,) = answer.skipped
    assert skipped.reason.isprintable()
    assert len(skipped.reason) < 160


@pytest.mark.parametrize("wide", [False, True])
def test_far_too_many_bases(tree: Path, wide: bool) -> None:
    """C3 over hundreds of classes takes minutes; what is behind the bound is undecided, not lost."""
    names = [f"Base{number}" for number in range(600)]
    if wide:
        body = "".join(f"class {name}(Server): pass\n" for name in names)
        body += f"class TestLast({', '.join(names)}):\n    def test_it(self): pass\n"
    else:
        body = "".join(f"class {name}({base}): pass\n" for base, name in pairwise(["Server", *names]))
        body += f"class TestLast({names[-1]}):\n    def test_it(self): pass\n"
    write(tree, {"test_many.py": HEAD + MERGING + body})
    (last,) = (entry for entry in audit([str(tree)]).classes if entry.name == "TestLast")
    assert last.verdict == "undecided"
    assert "more than 200 bases" in last.reasons[0].text

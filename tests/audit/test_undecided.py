"""What cannot be told without running the code is undecided, with the reason and the line."""

from __future__ import annotations

from pathlib import Path

import pytest
from real_classes import HEAD, LEVEL, MERGING, write

from memcheck_cli.audit import audit
from memcheck_cli.audit.model import AuditedClass

HEAD_LINES = (HEAD + MERGING).count("\n")


def only(tmp_path: Path, body: str, head: str = HEAD + MERGING) -> AuditedClass:
    write(tmp_path, {"test_it.py": head + body})
    (entry,) = audit([str(tmp_path)]).classes
    return entry


@pytest.mark.parametrize(
    ("line", "reason", "body"),
    [
        (2, "only a run decides `is_hip()`", "if is_hip():\n        env_overrides = ((envs.{L}, 1),)"),
        (2, "only a run decides", "if is_hip():\n        pass\n    elif is_cuda():\n        env_overrides = PAIRS"),
        (2, "make is not defined", "env_overrides = make()"),
        (2, "elsewhere.PAIRS is not among the files", "env_overrides = PAIRS"),
        (2, "elsewhere.PAIRS is not among the files", "env_overrides = ((envs.{L}, 1), *PAIRS)"),
        (2, "what elsewhere.level() gives", "env_overrides = ((envs.{L}, level()),)"),
        (2, "the environment of the run decides", "env_overrides = ((envs.{L}, int(os.environ['LEVEL_ONE'])),)"),
        (2, "only a run decides `is_hip()`", "env_overrides = ((envs.{L}, 1),) if is_hip() else ()"),
        (2, "only a run decides `is_hip()`", "env_overrides = ((envs.{L}, 2 if is_hip() else 1),)"),
        (2, "elsewhere.variable", "env_overrides = ((variable(), 1),)"),
        (2, "exception", "try:\n        env_overrides = ((envs.{L}, 1),)\n    except E:\n        env_overrides = ()"),
    ],
)
def test_class_attributes(tmp_path: Path, line: int, reason: str, body: str) -> None:
    head = HEAD + MERGING + "from elsewhere import PAIRS, is_hip, is_cuda, level, variable\n"
    entry = only(
        tmp_path, "\nclass TestIt(Server):\n    " + body.replace("{L}", LEVEL) + "\n    def test_it(self): pass\n", head
    )
    assert (entry.verdict, entry.level, entry.set_by) == ("undecided", None, None)
    assert [reason in found.text for found in entry.reasons] == [True], entry.reasons
    # the class statement is line 1 of the body
    start = head.count("\n") + 2
    assert entry.line == start
    found = entry.reasons[0].line
    assert found == start + line - 1
    assert entry.reasons[0].file == str(tmp_path / "test_it.py")


@pytest.mark.parametrize(
    ("reason", "body"),
    [
        ("only a run decides `is_hip()`", "if is_hip():\n    envs.{L}.set(1)\n{X}"),
        ("only a run decides", "with envs.{L}.override(1) if is_hip() else contextlib.nullcontext():\n    {X}"),
        ("elsewhere.NAME", "os.environ[NAME] = '1'\n{X}"),
        ("elsewhere.SETTINGS", "os.environ.update(SETTINGS)\n{X}"),
        ("elsewhere.SETTINGS", "popen_launch_server('model', 'url', env=SETTINGS)"),
        ("elsewhere.SETTINGS", "popen_launch_server('model', 'url', env={**os.environ, **SETTINGS})"),
        ("SETTINGS", "popen_launch_server('model', 'url', **SETTINGS)"),
        ("elsewhere.SETTINGS", "for name, value in SETTINGS.items():\n    os.environ[name] = value\n{X}"),
        ("elsewhere.strict_env", "with strict_env(1):\n    {X}"),
        ("elsewhere.launch_some_server", "launch_some_server()"),
        ("only a run decides", "while is_hip():\n    envs.{L}.set(1)\n{X}"),
        ("exception", "try:\n    check()\nexcept ValueError:\n    envs.{L}.set(1)\n{X}"),
        ("only a run decides", "match is_hip():\n    case True:\n        envs.{L}.set(1)\n{X}"),
        ("LEVEL_ONE", "envs.{L}.set(os.environ['LEVEL_ONE'])\n{X}"),
    ],
)
def test_set_up_code(tmp_path: Path, reason: str, body: str) -> None:
    code = body.replace("{L}", LEVEL).replace("{X}", "popen_launch_server('model', 'url')").replace("\n", "\n        ")
    entry = only(
        tmp_path,
        f"""
from elsewhere import NAME, SETTINGS, is_hip, launch_some_server, strict_env

class TestIt(CustomTestCase):
    @classmethod
    def setUpClass(cls):
        {code}
    def test_it(self): pass
""",
    )
    assert (entry.verdict, entry.level) == ("undecided", None)
    assert any(reason in found.text for found in entry.reasons), entry.reasons
    assert all(found.line for found in entry.reasons)


def test_later_write_decides_again(tmp_path: Path) -> None:
    """What cannot be told is overwritten by what can: the order of the writes counts."""
    entry = only(
        tmp_path,
        f"""
from elsewhere import PAIRS, SETTINGS
class Core(Server):
    env_overrides = PAIRS
class TestIt(Core):
    env_overrides = (*PAIRS, (envs.{LEVEL}, 1))
    def test_it(self): pass
""",
    )
    assert (entry.verdict, entry.level, entry.set_by) == ("checked", 1, "TestIt")


def test_condition_that_does_not_matter(tmp_path: Path) -> None:
    entry = only(
        tmp_path,
        f"""
from elsewhere import is_hip
class TestIt(Server):
    attention = "a" if is_hip() else "b"
    if is_hip():
        page_size = 1
    env_overrides = ((envs.{LEVEL}, 1), (envs.SGLANG_LOG_MS, is_hip()))
    def test_it(self): pass
""",
    )
    assert (entry.verdict, entry.level) == ("checked", 1)


def test_unresolved_base(tmp_path: Path) -> None:
    entry = only(
        tmp_path,
        f"""
from somewhere.far import Mystery
class TestIt(Mystery):
    env_overrides = ((envs.{LEVEL}, 1),)
    def test_it(self): pass
""",
    )
    assert (entry.verdict, entry.level, entry.starts_server) == ("undecided", None, None)
    assert "somewhere.far.Mystery is not among the files" in entry.reasons[0].text
    assert entry.reasons[0].line == HEAD_LINES + 3
    assert [base.kind for base in entry.order] == ["read", "unresolved", "known"]


def test_unresolved_mixin_beside_a_fixture(tmp_path: Path) -> None:
    entry = only(
        tmp_path,
        f"""
from somewhere import Mixin
class TestIt(Server, Mixin):
    env_overrides = ((envs.{LEVEL}, 1),)
""",
    )
    assert (entry.verdict, entry.starts_server) == ("undecided", True)


@pytest.mark.parametrize(
    "base", ["unittest.TestCase", "CustomTestCase", "object", "abc.ABC", "IsolatedAsyncioTestCase"]
)
def test_known_outside_bases(tmp_path: Path, base: str) -> None:
    body = f"""
import abc
from unittest import IsolatedAsyncioTestCase
class TestIt(Server, {base}):
    def test_it(self): pass
"""
    if base in ("unittest.TestCase", "CustomTestCase", "IsolatedAsyncioTestCase", "object"):
        body = body.replace("class TestIt(Server, ", "class Mixin(").replace("def test_it(self): pass", "pass")
        body += "\nclass TestIt(Server, Mixin):\n    def test_it(self): pass\n"
    assert only(tmp_path, body).verdict == "unchecked"


def test_refused_bases(tmp_path: Path) -> None:
    entry = only(
        tmp_path,
        """
class Left(Server): pass
class TestIt(Server, Left):
    def test_it(self): pass
""",
    )
    assert entry.verdict == "undecided"
    assert "no consistent order" in entry.reasons[0].text
    assert entry.reasons[0].line == HEAD_LINES + 3


@pytest.mark.parametrize(
    ("decorator", "verdict"),
    [
        ("unittest.skipIf(True, 'why')", "unchecked"),
        ("unittest.skip('why')", "unchecked"),
        ("pytest.mark.slow", "unchecked"),
        ("skip_if_no_gpu", "unchecked"),
        ("elsewhere.change", "undecided"),
        ("elsewhere.change(1)", "undecided"),
        ("parameterized_class([{'page_size': 1}, {'page_size': 2}])", "unchecked"),
        ("parameterized_class([{'env_overrides': ()}])", "undecided"),
    ],
)
def test_class_decorators(tmp_path: Path, decorator: str, verdict: str) -> None:
    entry = only(
        tmp_path,
        f"""
import elsewhere, pytest
from elsewhere import skip_if_no_gpu
from parameterized import parameterized_class
@{decorator}
class TestIt(Server):
    def test_it(self): pass
""",
    )
    assert entry.verdict == verdict


@pytest.mark.parametrize(("meta", "verdict"), [("abc.ABCMeta", "unchecked"), ("elsewhere.Meta", "undecided")])
def test_metaclasses(tmp_path: Path, meta: str, verdict: str) -> None:
    entry = only(
        tmp_path,
        f"""
import abc, elsewhere
class Core(Server, metaclass={meta}): pass
class TestIt(Core):
    def test_it(self): pass
""",
    )
    assert entry.verdict == verdict


def test_set_from_another_file(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "test_it.py": HEAD + MERGING + "\nclass TestIt(Server):\n    def test_it(self): pass\n",
            "other.py": f"from test_it import TestIt\nfrom sglang.srt.environ import envs\n"
            f"TestIt.env_overrides = ((envs.{LEVEL}, 1),)\nclass Other: pass\n",
        },
    )
    (entry,) = audit([str(tmp_path)]).classes
    assert entry.verdict == "undecided"
    assert "set from another file" in entry.reasons[0].text
    assert entry.reasons[0].file == str(tmp_path / "other.py")


def test_only_as_a_script(tmp_path: Path) -> None:
    entry = only(
        tmp_path,
        f"""
class TestIt(Server):
    def test_it(self): pass
if __name__ == "__main__":
    envs.{LEVEL}.set(1)
    unittest.main()
""",
    )
    assert entry.verdict == "undecided"
    assert "as a script" in entry.reasons[0].text


def test_import_that_may_be_two_files(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "a/lib/servers.py": HEAD + MERGING,
            "b/lib/servers.py": HEAD + MERGING,
            "c/test_it.py": "from lib.servers import Server\nclass TestIt(Server):\n    def test_it(self): pass\n",
        },
    )
    (entry,) = audit([str(tmp_path)]).classes
    assert entry.verdict == "undecided"
    assert "may be" in entry.reasons[0].text and "b/lib/servers.py" in entry.reasons[0].text


def test_base_in_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "servers.py": "class Server(:\n",
            "test_it.py": "from servers import Server\nclass TestIt(Server):\n    def test_it(self): pass\n",
        },
    )
    answer = audit([str(tmp_path)])
    assert "servers.py is no Python" in answer.classes[0].reasons[0].text
    assert [skipped.file for skipped in answer.skipped] == [str(tmp_path / "servers.py")]


def test_too_much_to_follow(tmp_path: Path) -> None:
    entry = only(
        tmp_path,
        f"""
class TestIt(CustomTestCase):
    @classmethod
    def setUpClass(cls):
        for a in range(5000):
            for b in range(5000):
                os.environ["{LEVEL}"] = "1"
        popen_launch_server("model", "url")
    def test_it(self): pass
""",
    )
    assert entry.verdict == "undecided"
    assert "too much to follow" in entry.reasons[0].text

"""Which classes are test classes that start a server, known fixtures, and how they speculate."""

from __future__ import annotations

from pathlib import Path

import pytest
from real_classes import HEAD, LEVEL, MERGING, write

from memcheck_cli.audit import audit
from memcheck_cli.audit.model import AuditedClass

FIXTURES = """\
from sglang.srt.environ import envs
from sglang.test.kits.spec_server_kits import SpecAccuracyKit, SpecLogprobKit
from sglang.test.kits.streaming_session_kit import StreamingSessionKitMixin
from sglang.test.server_fixtures.eagle_fixture import EagleServerBase
from sglang.test.server_fixtures.spec_eagle_fixture import Eagle3Base, EagleLlama2Base, SpecEagleServerBase
from sglang.test.server_fixtures.streaming_session_fixture import StreamingSessionServerBase
import sglang.test.server_fixtures.spec_eagle_fixture as fixtures
"""


def told(tmp_path: Path, body: str, head: str = HEAD + MERGING, release: str | None = None) -> dict[str, AuditedClass]:
    write(tmp_path, {"test_it.py": head + body})
    return {entry.name: entry for entry in audit([str(tmp_path)], release=release).classes}


def test_mixins_and_abstract_bases_are_no_tests(tmp_path: Path) -> None:
    answers = told(
        tmp_path,
        """
class _Abstract(Server): pass
class TestAbstract(Server): pass
class Kit:
    def test_it(self): pass
class ServerKit(Kit):
    @classmethod
    def setUpClass(cls):
        popen_launch_server("model", "url")
class TestNoServer(CustomTestCase):
    def test_it(self): pass
class Inherits(_Abstract, Kit): pass
class TestPytestStyle(ServerKit): pass
class Switched(Inherits):
    __test__ = False
class Emptied(Inherits):
    test_it = None
class Deleted(Inherits): pass
del Deleted
""",
    )
    assert list(answers) == ["Inherits", "TestPytestStyle"]


def test_where_a_server_may_be_started(tmp_path: Path) -> None:
    launch = "popen_launch_server('model', 'url')"
    answers = told(
        tmp_path,
        f"""
import pytest, subprocess
import sglang as sgl
class TestSetUp(CustomTestCase):
    def setUp(self):
        with envs.{LEVEL}.override(1):
            self.process = {launch}
    def test_it(self): pass
class TestMethod(CustomTestCase):
    def start(self, level):
        with envs.{LEVEL}.override(level):
            return {launch}
    def test_it(self):
        self.start(2)
class TestLeastOfMethods(TestMethod):
    def test_other(self):
        self.start(1)
class TestFixture(CustomTestCase):
    @pytest.fixture(autouse=True)
    def server(self, monkeypatch):
        monkeypatch.setenv("{LEVEL}", "2")
        yield {launch}
    def test_it(self): pass
class TestEngine(CustomTestCase):
    def test_it(self):
        with envs.{LEVEL}.override(1):
            engine = sgl.Engine(model_path="m", speculative_algorithm="EAGLE", speculative_eagle_topk=2)
class TestProcess(CustomTestCase):
    @classmethod
    def setUpClass(cls):
        env = os.environ.copy()
        env["{LEVEL}"] = "1"
        cls.process = subprocess.Popen(["python", "-m", "sglang.launch_server", "--model-path", "m"], env=env)
    def test_it(self): pass
class TestOtherProcess(CustomTestCase):
    @classmethod
    def setUpClass(cls):
        cls.process = subprocess.Popen(["python", "-m", "http.server"])
    def test_it(self): pass
class TestTearDown(CustomTestCase):
    @classmethod
    def tearDownClass(cls):
        {launch}
    def test_it(self): pass
""",
    )
    assert {name: entry.level for name, entry in answers.items()} == {
        "TestSetUp": 1,
        "TestMethod": 2,
        "TestLeastOfMethods": 1,
        "TestFixture": 2,
        "TestEngine": 1,
        "TestProcess": 1,
    }
    engine = answers["TestEngine"].speculative
    assert engine is not None and (engine.algorithm, engine.topk) == ("EAGLE", 2)


def test_patch_on_a_class_wraps_test_methods_only(tmp_path: Path) -> None:
    launch = "popen_launch_server('model', 'url')"
    answers = told(
        tmp_path,
        f"""
from unittest.mock import patch
@patch.dict(os.environ, {{"{LEVEL}": "1"}})
class TestMethods(CustomTestCase):
    def test_it(self): {launch}
@patch.dict(os.environ, {{"{LEVEL}": "1"}})
class TestSetUp(CustomTestCase):
    @classmethod
    def setUpClass(cls): {launch}
    def test_it(self): pass
""",
    )
    assert {name: entry.level for name, entry in answers.items()} == {"TestMethods": 1, "TestSetUp": 0}


def test_speculative_servers_decide(tmp_path: Path) -> None:
    """A plain reference server beside the speculative one does not count."""
    answers = told(
        tmp_path,
        f"""
class TestParity(CustomTestCase):
    @classmethod
    def setUpClass(cls):
        popen_launch_server("model", "url", other_args=["--page-size", "1"])
        with envs.{LEVEL}.override(1):
            popen_launch_server("model", "url", other_args=["--speculative-algorithm", "EAGLE3"])
    def test_it(self): pass
""",
    )
    assert answers["TestParity"].level == 1


def test_known_fixtures(tmp_path: Path) -> None:
    answers = told(
        tmp_path,
        f"""
KITS = (SpecAccuracyKit, SpecLogprobKit)
class _Core(Eagle3Base):
    env_overrides = ((envs.{LEVEL}, 1),)
class TestCore(_Core, *KITS): pass
class TestEmpty(_Core, SpecAccuracyKit):
    env_overrides = ()
class TestOff(_Core, SpecAccuracyKit):
    env_overrides = ((envs.{LEVEL}, 0),)
class TestLlama(EagleLlama2Base, SpecAccuracyKit):
    spec_steps = 6
class TestByModule(fixtures.Eagle3Base, SpecAccuracyKit):
    env_overrides = ((envs.{LEVEL}, 2),)
class TestWrongBase(EagleServerBase, SpecAccuracyKit):
    env_overrides = ((envs.{LEVEL}, 1),)
class TestSession(StreamingSessionServerBase, StreamingSessionKitMixin): pass
class TestSessionLoud(TestSession):
    extra_args = ["--speculative-algorithm", "EAGLE3", "--speculative-eagle-topk", "1"]
    env_overrides = [("{LEVEL}", 2)]
class TestSessionBack(TestSessionLoud):
    env_overrides = [("SGLANG_TEST_RETRACT", True)]
class TestDiamond(_Core, Eagle3Base, SpecAccuracyKit): pass
""",
        FIXTURES,
    )
    assert {name: (entry.level, entry.set_by) for name, entry in answers.items()} == {
        "TestCore": (1, "_Core"),
        "TestEmpty": (1, "_Core"),
        "TestOff": (0, "TestOff"),
        "TestLlama": (0, None),
        "TestByModule": (2, "TestByModule"),
        "TestWrongBase": (0, None),
        "TestSession": (1, "StreamingSessionServerBase"),
        "TestSessionLoud": (2, "TestSessionLoud"),
        "TestSessionBack": (1, "StreamingSessionServerBase"),
        "TestDiamond": (1, "_Core"),
    }
    llama = answers["TestLlama"].speculative
    assert llama is not None
    assert (llama.algorithm, llama.topk, llama.num_steps, llama.draft_tokens) == ("EAGLE", 8, 6, 64)
    assert answers["TestSession"].speculative is None
    assert "declares a level" in answers["TestWrongBase"].notes[0].text
    assert {base.kind for base in answers["TestCore"].order[2:]} == {"known"}
    assert answers["TestSession"].set_file is None


@pytest.mark.parametrize(
    ("release", "level"), [(None, 1), ("0.5.12", 2), ("0.5.12.post1", 2), ("0.5.13", 1), ("0.5.23", 1)]
)
def test_level_of_the_session_fixture(tmp_path: Path, release: str | None, level: int) -> None:
    body = "class TestSession(StreamingSessionServerBase, StreamingSessionKitMixin): pass\n"
    assert told(tmp_path, body, FIXTURES, release)["TestSession"].level == level


def test_a_given_file_comes_before_what_is_known(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "python/sglang/test/server_fixtures/spec_eagle_fixture.py": HEAD
            + MERGING.replace("Server", "Eagle3Base").replace("with cont", f"envs.{LEVEL}.set(2)\n        with cont"),
            "test/registered/test_it.py": FIXTURES + "class TestIt(Eagle3Base, SpecAccuracyKit): pass\n",
        },
    )
    (entry,) = audit([str(tmp_path)]).classes
    assert (entry.level, entry.set_by) == (2, "Eagle3Base")
    (alone,) = audit([str(tmp_path / "test")]).classes
    assert (alone.level, alone.set_by) == (0, None)


def test_sketch_of_a_fixture(tmp_path: Path) -> None:
    """A fixture that declares `env_overrides` and has no code that reads them counts as the kind it is a sketch of."""
    sketch = """
class Server(CustomTestCase):
    env_overrides = ()
    @classmethod
    def setUpClass(cls):
        popen_launch_server("model", "url")
"""
    body = f"""
class Core(Server):
    env_overrides = ((envs.{LEVEL}, 1),)
class TestIt(Core):
    env_overrides = ()
    def test_it(self): pass
"""
    assert told(tmp_path, body, HEAD + sketch)["TestIt"].level == 1
    bare = sketch.replace("    env_overrides = ()\n", "")
    assert told(tmp_path, body, HEAD + bare)["TestIt"].level == 0


ARGS = {
    "list": '["--speculative-algorithm", "EAGLE", "--speculative-eagle-topk", "4", "--speculative-num-steps", 3, '
    '"--speculative-num-draft-tokens", str(8)]',
    "equals": '["--speculative-algorithm=EAGLE", f"--speculative-eagle-topk={cls.topk}", "--speculative-num-steps=3", '
    '"--speculative-num-draft-tokens=8"]',
    "attributes": '["--speculative-algorithm", cls.algo, "--speculative-eagle-topk", cls.topk, '
    '"--speculative-num-steps", str(cls.steps), "--speculative-num-draft-tokens", str(cls.tokens)]',
    "sum": '["--trust-remote-code"] + ["--speculative-algo", "EAGLE"] + list(cls.rest)',
    "starred": '["--x", *["--speculative-algorithm", "EAGLE"], *cls.rest]',
    "mapped": '[str(a) for a in ("--speculative-algorithm", "EAGLE", *cls.rest)]',
    "split": '("--speculative-algorithm EAGLE " + " ".join(cls.rest)).split()',
    "method": "cls.arguments()",
}


@pytest.mark.parametrize("way", ARGS)
def test_speculative_options(tmp_path: Path, way: str) -> None:
    answers = told(
        tmp_path,
        f"""
from elsewhere import MODEL
class TestIt(CustomTestCase):
    algo, topk, steps, tokens = "EAGLE", 4, 3, 8
    rest = ("--speculative-eagle-topk", "4", "--speculative-num-steps", "3", "--speculative-num-draft-tokens", "8")
    @classmethod
    def arguments(cls):
        args = ["--speculative-algorithm", cls.algo, "--speculative-draft-model-path", MODEL]
        if cls.topk:
            args.append("--speculative-eagle-topk")
            args.append(str(cls.topk))
        args += ["--speculative-num-steps", "9", "--speculative-num-steps", "3"]
        args.extend(cls.rest[-2:])
        return args
    @classmethod
    def setUpClass(cls):
        popen_launch_server(MODEL, "url", other_args={ARGS[way]})
    def test_it(self): pass
""",
    )
    found = answers["TestIt"].speculative
    assert found is not None and found.certain
    assert (found.algorithm, found.topk, found.num_steps, found.draft_tokens) == ("EAGLE", 4, 3, 8)


@pytest.mark.parametrize(
    ("args", "certain"),
    [
        ('["--page-size", "1"]', None),
        ("None", None),
        ("cls.unset", None),
        ('["--speculative-algorithm", ALGORITHM]', True),
        ("ARGS", False),
        ('["--x", *ARGS]', False),
        ('["--speculative-algorithm", "EAGLE"] if is_hip() else []', False),
    ],
)
def test_whether_it_speculates(tmp_path: Path, args: str, certain: bool | None) -> None:
    answers = told(
        tmp_path,
        f"""
from elsewhere import ALGORITHM, ARGS, is_hip
class TestIt(CustomTestCase):
    unset = None
    @classmethod
    def setUpClass(cls):
        popen_launch_server("model", "url", other_args={args})
    def test_it(self): pass
""",
    )
    found = answers["TestIt"].speculative
    assert (None if found is None else found.certain) == certain


def test_notes_on_servers_without_a_check(tmp_path: Path) -> None:
    answers = told(
        tmp_path,
        f"""
class TestPipeline(CustomTestCase):
    args = ["--pp-size", "2"]
    @classmethod
    def setUpClass(cls):
        with envs.{LEVEL}.override(1):
            popen_launch_server("model", "url", other_args=cls.args)
    def test_it(self): pass
class TestPrefill(TestPipeline):
    args = ["--disaggregation-mode", "prefill"]
class TestTree(TestPipeline):
    args = ["--speculative-algorithm", "EAGLE", "--speculative-eagle-topk", "8", "--pp-size", "1"]
class TestPlain(TestPipeline):
    args = []
""",
    )
    texts = {name: [note.text for note in entry.notes] for name, entry in answers.items()}
    assert ["pipeline" in text for text in texts["TestPipeline"]] == [True]
    assert ["disaggregated" in text for text in texts["TestPrefill"]] == [True]
    assert ["0.5.12.post1" in text for text in texts["TestTree"]] == [True]
    assert texts["TestPlain"] == []


def test_one_class_is_explained_whatever_it_is(tmp_path: Path) -> None:
    core = f"\nclass Core(Server):\n    env_overrides = ((envs.{LEVEL}, 1),)\n"
    write(tmp_path, {"test_it.py": HEAD + MERGING + core})
    (found,) = audit([str(tmp_path)], name="Core").classes
    assert (found.is_test, found.starts_server, found.level) == (False, True, 1)
    (server,) = audit([str(tmp_path)], name="Server").classes
    assert (server.is_test, server.level) == (False, 0)
    assert audit([str(tmp_path)], name="Nobody").names == ("Core", "Server")


def test_bases_with_tests_in_files_that_no_run_collects(tmp_path: Path) -> None:
    test = "\n    def test_it(self): pass\n"
    bases = f"class CommonServerBase(Server):{test}class ServerMixin(Server):{test}class TestCommonBase(Server):{test}"
    write(tmp_path, {"common.py": HEAD + MERGING + bases, "test_base.py": HEAD + MERGING + bases})
    found = [(Path(entry.file).name, entry.name) for entry in audit([str(tmp_path)]).classes]
    assert found == [
        ("common.py", "TestCommonBase"),
        ("test_base.py", "CommonServerBase"),
        ("test_base.py", "ServerMixin"),
        ("test_base.py", "TestCommonBase"),
    ]


def test_fields_with_a_name_of_their_own(tmp_path: Path) -> None:
    body = f"""
class EnvField:
    def __init__(self, name): self.name = name
CHECK = EnvField("{LEVEL}")
class Core(Server):
    env_overrides = ((CHECK, 1),)
class TestIt(Core):
    def test_it(self): pass
"""
    entry = told(tmp_path, body)["TestIt"]
    assert (entry.level, entry.set_by) == (1, "Core")
    assert entry.set_line is not None and "(CHECK, 1)" in (tmp_path / "test_it.py").read_text().splitlines()[
        entry.set_line - 1
    ]  # fmt: skip


def test_sketches_of_known_fixtures(tmp_path: Path) -> None:
    """A file that only has the names: what is known of the fixtures stands in for the code that is not there."""
    sketch = """
class Eagle3Base(CustomTestCase):
    spec_algo, spec_topk = "EAGLE3", 1
class StreamingSessionServerBase(CustomTestCase):
    pass
class EagleServerBase(CustomTestCase):
    pass
"""
    body = f"""
class Core(Eagle3Base):
    env_overrides = ((envs.{LEVEL}, 1),)
class TestMerged(Core):
    env_overrides = ()
    def test_it(self): pass
class TestSession(StreamingSessionServerBase):
    def test_it(self): pass
class TestSessionOff(TestSession):
    env_overrides = [("{LEVEL}", 0)]
class TestNotApplied(EagleServerBase):
    env_overrides = ((envs.{LEVEL}, 1),)
    def test_it(self): pass
"""
    answers = told(tmp_path, body, HEAD + sketch)
    assert {name: (entry.level, entry.set_by) for name, entry in answers.items()} == {
        "TestMerged": (1, "Core"),
        "TestSession": (1, "StreamingSessionServerBase"),
        "TestSessionOff": (0, "TestSessionOff"),
        "TestNotApplied": (0, None),
    }
    assert answers["TestMerged"].speculative is not None

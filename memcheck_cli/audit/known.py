"""What is known of SGLang's own test fixtures where their files are not among those given.

Each description says, in the shortest code that behaves alike, which class attributes a fixture starts its server from
and how it treats `env_overrides` (spec_eagle_fixture and its neighbours, SGLang 0.5.6 to 0.5.23). The audit reads a
description as it reads a file; a file that is given always comes first.
"""

from __future__ import annotations

import re
import sys

from memcheck_cli.audit.follow.values import External
from memcheck_cli.checker.releases import Release

PREFIX = "sglang.test.server_fixtures."
_KIT = re.compile(r"(?:.*\.)?sglang\.test\.(?:\w+\.)*(?:kits\.|\w+_kits?\.).*")
"""The released kits bring test methods and set no variable."""

_HEAD = """
from sglang.test.test_utils import CustomTestCase, popen_launch_server, popen_launch_pd_server
from sglang.srt.environ import envs
import contextlib, os
"""

_SPEC_EAGLE = """
class SpecEagleServerBase(CustomTestCase):
    spec_algo, spec_steps, spec_topk, spec_tokens = "EAGLE3", 5, 1, 6
    page_size = 1
    disable_overlap = False
    env_overrides = ()
    extra_args = ()

    @classmethod
    def _merged_env_overrides(cls):
        return [pair for entry in reversed(cls.__mro__) for pair in entry.__dict__.get("env_overrides", ())]

    @classmethod
    def setUpClass(cls):
        with contextlib.ExitStack() as stack:
            stack.enter_context(envs.SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN.override(True))
            for field, value in cls._merged_env_overrides():
                stack.enter_context(field.override(value))
            popen_launch_server(other_args=[
                "--speculative-algorithm", cls.spec_algo, "--speculative-num-steps", cls.spec_steps,
                "--speculative-eagle-topk", cls.spec_topk, "--speculative-num-draft-tokens", cls.spec_tokens,
                *cls.extra_args])

class Eagle3Base(SpecEagleServerBase):
    spec_algo, spec_steps, spec_topk, spec_tokens = "EAGLE3", 5, 1, 6

class EagleLlama2Base(SpecEagleServerBase):
    spec_algo, spec_steps, spec_topk, spec_tokens = "EAGLE", 5, 8, 64
"""

_STREAMING = """
class StreamingSessionServerBase(CustomTestCase):
    extra_args = []
    env_overrides = []

    @classmethod
    def setUpClass(cls):
        with contextlib.ExitStack() as stack:
            stack.enter_context(envs.SGLANG_ENABLE_STRICT_MEM_CHECK_DURING_BUSY.override({level}))
            for name, value in cls.env_overrides:
                stack.enter_context(getattr(envs, name).override(value))
            popen_launch_server(other_args=["--enable-streaming-session", *cls.extra_args])
"""

_EAGLE = """
class EagleServerBase(CustomTestCase):
    spec_algo, spec_steps, spec_topk, spec_tokens = "EAGLE", 5, 8, 64
    extra_args = []

    @classmethod
    def setUpClass(cls):
        popen_launch_server(other_args=[
            "--speculative-algorithm", cls.spec_algo, "--speculative-num-steps", cls.spec_steps,
            "--speculative-eagle-topk", cls.spec_topk, "--speculative-num-draft-tokens", cls.spec_tokens,
            *cls.extra_args])

    def test_gsm8k(self): ...
"""

_DSA_MTP = """
class DsaMtpEvalConfigDefaults: ...

class DsaMtpServerBase(CustomTestCase):
    speculative_algorithm, speculative_num_steps = "EAGLE", 5
    speculative_eagle_topk, speculative_num_draft_tokens = 1, 6
    extra_server_args = ()

    @classmethod
    def get_server_args(cls):
        return ["--speculative-algorithm", cls.speculative_algorithm,
            "--speculative-num-steps", cls.speculative_num_steps,
            "--speculative-eagle-topk", cls.speculative_eagle_topk,
            "--speculative-num-draft-tokens", cls.speculative_num_draft_tokens, *cls.extra_server_args]

    @classmethod
    def setUpClass(cls):
        popen_launch_server(other_args=cls.get_server_args())
"""

_STANDALONE = """
class StandaloneServerBase:
    speculative_num_steps, speculative_eagle_topk, speculative_num_draft_tokens = 4, 1, 5

    @classmethod
    def get_server_args(cls):
        return ["--speculative-algorithm", "STANDALONE", "--speculative-num-steps", cls.speculative_num_steps,
            "--speculative-eagle-topk", cls.speculative_eagle_topk,
            "--speculative-num-draft-tokens", cls.speculative_num_draft_tokens]

    @classmethod
    def setUpClass(cls):
        popen_launch_server(other_args=cls.get_server_args())

    def test_gsm8k(self): ...
"""

_NGRAM = """
class NgramServerBase(CustomTestCase):
    extra_args = []

    @classmethod
    def get_server_args(cls):
        return ["--speculative-algorithm", "NGRAM", "--speculative-num-draft-tokens", "16", *cls.extra_args]

    @classmethod
    def setUpClass(cls):
        popen_launch_server(other_args=cls.get_server_args())
"""

_PCG = """
class PCGSpecBase:
    server_args = []
    server_env = None

    @classmethod
    def setUpClass(cls):
        popen_launch_server(other_args=cls.server_args, env=cls.server_env)

    def test_gsm8k(self): ...
"""

_HYBRID = """
class TestHybridAttnBackendBase(CustomTestCase):
    extra_args = []

    @classmethod
    def get_server_args(cls):
        return list(cls.extra_args)

    @classmethod
    def setUpClass(cls):
        popen_launch_server(other_args=cls.get_server_args())

    def test_gsm8k(self): ...
"""

_DEFAULT = """
class DefaultServerBase(CustomTestCase):
    other_args = []

    @classmethod
    def setUpClass(cls):
        popen_launch_server(other_args=cls.other_args)
"""

_MMMU = """
class MMMUServerBase(CustomTestCase):
    other_args = []

    @classmethod
    def setUpClass(cls):
        popen_launch_server(other_args=cls.other_args, env=os.environ.copy())
"""

_DISAGGREGATION = """
class PDDisaggregationServerBase(CustomTestCase):
    extra_prefill_args, extra_decode_args = [], []
    extra_prefill_env, extra_decode_env = {}, {}

    @classmethod
    def start_prefill(cls):
        popen_launch_pd_server(other_args=["--disaggregation-mode", "prefill", *cls.extra_prefill_args],
                               env=dict(cls.extra_prefill_env))

    @classmethod
    def start_decode(cls):
        popen_launch_pd_server(other_args=["--disaggregation-mode", "decode", *cls.extra_decode_args],
                               env=dict(cls.extra_decode_env))

    @classmethod
    def launch_all(cls):
        cls.start_prefill()
        cls.start_decode()

    @classmethod
    def setUpClass(cls): ...
"""

_FIXTURES = {
    "spec_eagle_fixture": (_SPEC_EAGLE, ("SpecEagleServerBase", "Eagle3Base", "EagleLlama2Base")),
    "streaming_session_fixture": (_STREAMING, ("StreamingSessionServerBase",)),
    "eagle_fixture": (_EAGLE, ("EagleServerBase",)),
    "dsa_mtp_fixture": (_DSA_MTP, ("DsaMtpServerBase", "DsaMtpEvalConfigDefaults")),
    "standalone_fixture": (_STANDALONE, ("StandaloneServerBase",)),
    "ngram_fixture": (_NGRAM, ("NgramServerBase",)),
    "pcg_spec_fixture": (_PCG, ("PCGSpecBase",)),
    "hybrid_attn_backend_fixture": (_HYBRID, ("TestHybridAttnBackendBase",)),
    "default_fixture": (_DEFAULT, ("DefaultServerBase",)),
    "mmmu_fixture": (_MMMU, ("MMMUServerBase",)),
    "disaggregation_fixture": (_DISAGGREGATION, ("PDDisaggregationServerBase",)),
}

FIXTURE_OF = {name: module for module, (_, names) in _FIXTURES.items() for name in names}
"""Class name to the module of its fixture."""

SESSIONS = _FIXTURES["streaming_session_fixture"][1]
"""The fixture that enables the check itself."""

LEVEL_ONE_FROM = Release.parse("0.5.13rc0")

MERGING = frozenset({*_FIXTURES["spec_eagle_fixture"][1], *SESSIONS})
"""The fixtures that apply `env_overrides`."""

_PLAIN_PACKAGES = frozenset({"torch", "numpy", "pytest", "transformers", "parameterized", "absl", "pydantic",
                             "requests", "typing_extensions", "fastapi", "aiohttp", "openai", "triton"})  # fmt: skip
_CASES = frozenset({"TestCase", "IsolatedAsyncioTestCase", "CustomTestCase"})


def description(module: str, release: Release | None) -> str:
    """The code that stands in for a fixture's file, for a release (None: the newest).

    The streaming session fixture enables level 2 in 0.5.12 and 0.5.12.post1, and level 1 from then on.
    """
    level = "1" if release is None or release >= LEVEL_ONE_FROM else "2"
    return _HEAD + _FIXTURES[module][0].replace("{level}", level)


def is_case(base: External) -> bool:
    """Whether a class outside the files is a `TestCase` that starts no server."""
    return base.last in _CASES


def is_kit(base: External) -> bool:
    """Whether a class outside the files is a kit: test methods to be mixed in."""
    return _KIT.fullmatch(base.dotted) is not None


def is_plain(base: External) -> bool:
    """Whether a class outside the files belongs to a package that has nothing to do with SGLang's servers."""
    top = base.dotted.partition(".")[0]
    return top in sys.stdlib_module_names or top in _PLAIN_PACKAGES or top == "builtins"

"""Made-up tests: which of them run under the busy check?"""

from fixtures.tree_server import BareServerBase, TreeServerBase
from sglang.srt.environ import envs
from sglang.utils import is_in_ci

CHECK = envs.SGLANG_ENABLE_STRICT_MEM_CHECK_DURING_BUSY


class ChatKit:
    """Tests without a server of their own."""

    def test_chat(self):
        pass


class Checked(TreeServerBase):
    env_overrides = ((CHECK, 1),)


class TestTree(Checked, ChatKit):
    """Inherits the level."""


class TestTreeTopk4(Checked, ChatKit):
    """An empty tuple of its own cancels nothing."""

    spec_topk = 4
    env_overrides = ()


class TestTreeLoud(Checked, ChatKit):
    env_overrides = ((CHECK, 2), (envs.SGLANG_TEST_RETRACT, True))


class TestTreeSilent(Checked, ChatKit):
    """A pair for another test was copied along with the level."""

    env_overrides = ((envs.SGLANG_TEST_RETRACT, True), (CHECK, 0))


class TestWrongBase(BareServerBase, ChatKit):
    """Declares the level on a base that knows no overrides."""

    other_args = ("--speculative-algorithm", "EAGLE3", "--speculative-eagle-topk", "1")
    env_overrides = ((CHECK, 1),)


class TestOnlyInCI(TreeServerBase, ChatKit):
    if is_in_ci():
        env_overrides = ((CHECK, 1),)

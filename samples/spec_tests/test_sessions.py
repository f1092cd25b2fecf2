"""Made-up tests over the other shape: a list of names and values."""

# ruff: noqa: RUF012 - lists, as SGLang's fixture has them

import fixtures.tree_server as servers


class TestSessions(servers.SessionServerBase):
    """The fixture itself switches the check on."""

    env_overrides = [("SGLANG_TEST_RETRACT", True)]

    def test_session(self):
        pass


class TestSessionsLoud(TestSessions):
    extra_args = ["--speculative-algorithm", "EAGLE3"]
    env_overrides = [("SGLANG_ENABLE_STRICT_MEM_CHECK_DURING_BUSY", 2)]


class TestSessionsBack(TestSessionsLoud):
    """Its own list stands instead of the inherited one, so the fixture's level is back."""

    env_overrides = []

"""Settings for all tests."""

from __future__ import annotations

import os

from hypothesis import settings

# The same examples at every run, so that a run says something of the code and not of chance. To look for new ones:
# HYPOTHESIS_PROFILE=searching pytest …
settings.register_profile("steady", derandomize=True)
settings.register_profile("searching", max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))

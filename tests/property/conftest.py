"""The same examples each time, so that a test never fails by chance; WORKBELL_SOAK=1 searches at random, and longer."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("steady", max_examples=50, derandomize=True, deadline=None, database=None)
settings.register_profile("soak", max_examples=1000, deadline=None, database=None)
settings.load_profile("soak" if os.environ.get("WORKBELL_SOAK") else "steady")

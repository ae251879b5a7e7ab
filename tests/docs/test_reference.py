"""The reference is made from the code, and the committed page is what the code gives now."""

from __future__ import annotations

import subprocess
import sys

from tests.docs.pages import DOCS, plain_environment


def test_the_reference_is_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, str(DOCS / "generate.py"), "--check"],
        env=plain_environment(),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr

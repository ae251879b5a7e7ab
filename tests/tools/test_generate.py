"""Generated modules: the committed ones are what the code gives now."""

from __future__ import annotations

import subprocess
import sys

from tests.docs.pages import ROOT, plain_environment


def test_generated_modules_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "generate.py"), "--check"],
        env=plain_environment(),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr

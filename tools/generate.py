"""Writes what is made from the code: `python tools/generate.py`; `--check` only says whether it is up to date."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import client_verbs
import dashboard_words

ROOT = Path(__file__).parent.parent


def formatted(text: str) -> str:
    """Python source as `make format` writes it."""
    for command in (["check", "--fix", "--exit-zero", "--quiet"], ["format", "--quiet"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--stdin-filename", "src/workbell/remote/verbs.py", "-"],
            input=text.encode(),
            capture_output=True,
            check=True,
            cwd=ROOT,
        )
        text = done.stdout.decode()
    return text


def main() -> None:
    made = {client_verbs.FILE: formatted(client_verbs.module()), dashboard_words.FILE: dashboard_words.module()}
    stale = [path for path, text in made.items() if not path.is_file() or path.read_text() != text]
    if "--check" in sys.argv:
        for path in stale:
            print(f"{path.relative_to(ROOT)} is not up to date; run `make generate`.")
        raise SystemExit(bool(stale))
    for path in stale:
        path.write_text(made[path])


if __name__ == "__main__":
    main()

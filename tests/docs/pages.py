"""The pages of the documentation, and the code that stands on them."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
NO_RUN = "<!-- no-run -->"


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def text_of(page: Path) -> str:
    return page.read_text("utf-8")


def blocks(text: str, language: str) -> list[tuple[int, str]]:
    """Fenced blocks of a language that may be run: the line each starts on, and its code."""
    found: list[tuple[int, str]] = []
    lines = text.splitlines()
    place = 0
    while place < len(lines):
        if not lines[place].startswith("```"):
            place += 1
            continue
        end = next(at for at in range(place + 1, len(lines)) if lines[at].startswith("```"))
        before = next((line for line in reversed(lines[:place]) if line.strip()), "")
        if lines[place].removeprefix("```").strip() == language and before.strip() != NO_RUN:
            found.append((place + 1, "\n".join(lines[place + 1 : end])))
        place = end + 1
    return found


def plain_environment() -> dict[str, str]:
    """This environment without settings of Workbell or pytest, and with our source in front."""
    kept = {n: value for n, value in os.environ.items() if not n.startswith(("WORKBELL_", "PYTEST_"))}
    return kept | {"PYTHONPATH": str(ROOT / "src"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}

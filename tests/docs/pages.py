"""The pages of the documentation, and the code that stands on them."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
TOP_PAGES = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")]
PAGES = [*TOP_PAGES, *sorted(DOCS.rglob("*.md"))]
NO_RUN = "<!-- no-run -->"
STEP = re.compile(
    r"<!-- (?P<kind>file|shows|run|start|sees|stops|shell)(?:: (?P<path>\S+))?(?: in (?P<folder>\S+))?"
    r"(?:, exit (?P<code>\d+))? -->"
)
TABLE_ROW = re.compile(r"^\| (.*) \|$", re.MULTILINE)


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def text_of(page: Path) -> str:
    return page.read_text("utf-8")


class Block(NamedTuple):
    """A fenced block: its language, the line it starts on, its text, and the last line of text before it."""

    language: str
    line: int
    text: str
    before: str


def all_blocks(text: str) -> list[Block]:
    found: list[Block] = []
    lines = text.splitlines()
    place = 0
    while place < len(lines):
        if not lines[place].startswith("```"):
            place += 1
            continue
        end = next(at for at in range(place + 1, len(lines)) if lines[at].startswith("```"))
        before = next((line for line in reversed(lines[:place]) if line.strip()), "").strip()
        language = lines[place].removeprefix("```").strip()
        found.append(Block(language, place + 1, "\n".join(lines[place + 1 : end]), before))
        place = end + 1
    return found


def blocks(text: str, language: str) -> list[tuple[int, str]]:
    """Blocks of a language that are run as one program: the line each starts on, and its code."""
    return [
        (block.line, block.text)
        for block in all_blocks(text)
        if block.language == language and block.before != NO_RUN and not STEP.fullmatch(block.before)
    ]


def files(text: str) -> list[tuple[str, str]]:
    """The Python files that a page has saved in the folder itself, not in one below."""
    found = [(STEP.fullmatch(block.before), block) for block in all_blocks(text) if block.language == "python"]
    return [
        (step["path"], block.text + "\n")
        for step, block in found
        if step and step["kind"] == "file" and step["folder"] is None and "/" not in step["path"]
    ]


def table_rows(text: str, heading: str) -> list[list[str]]:
    """The cells of the first table below a heading, without its head; `\\|` in a cell is a bar."""
    section = re.split(r"^#+ ", text.partition(f"# {heading}\n")[2], flags=re.MULTILINE)[0]
    assert section, heading
    lines = TABLE_ROW.findall(section)[2:]
    return [[cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)] for line in lines]


def plain_environment() -> dict[str, str]:
    """This environment without settings of Workbell or pytest, and with our source in front."""
    kept = {n: value for n, value in os.environ.items() if not n.startswith(("WORKBELL_", "PYTEST_"))}
    return kept | {"PYTHONPATH": str(ROOT / "src"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}

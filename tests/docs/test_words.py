"""A job gets an `input`, and an event or a notification carries `data`: "payload" is the word of other systems.

The references are generated, so that their pages hold every public signature, every field of the HTTP operations and
every option of the command line; the dashboard's texts stand in its sources.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.docs.pages import PAGES, ROOT, name_of
from workbell.model.suggestions import find_near, list_options

SOURCES = sorted(
    path
    for folder in ("src/workbell", "examples")
    for path in (ROOT / folder).rglob("*")
    if path.suffix in {".py", ".sql", ".js", ".mjs", ".ts", ".html", ".css", ".json", ".toml"}
)
KUMOFIRE = "src/workbell/stores/kumofire/"
# Where the word belongs to somebody else: the file or folder, and what its lines match.
FOREIGN = {
    KUMOFIRE: ".",  # its columns, and the argument that the import makes of one that is no object
    "examples/typescript_agent/handlers.mjs": r"\bpayload\b",  # that argument
    "docs/how-to/from-kumofire.md": "payload",
    "docs/five-designs.md": r"^\| [^|]*payload[^|]*(\| ((?!payload).)*)$",  # the first column: the words of the designs
    "docs/protocol.md": "^- PostgreSQL: `NOTIFY workbell` with an empty payload",
    "docs/glossary.md": r"\| (payload, args|payload) \|$",  # the words that are not ours
    "src/workbell/model/suggestions.py": "^FOREIGN = ",
}


def lines_with_payload() -> Iterator[tuple[str, int, str]]:
    for path in {*SOURCES, *PAGES}:
        if "payload" in path.name.lower():
            yield name_of(path), 0, path.name
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            if "payload" in line.lower():
                yield name_of(path), number, line.strip()


def exception_of(name: str, line: str) -> str | None:
    return next((place for place, like in FOREIGN.items() if name.startswith(place) and re.search(like, line)), None)


def test_nothing_of_ours_is_called_payload() -> None:
    assert any(name_of(path).startswith("docs/reference/") for path in PAGES)
    used: Counter[str] = Counter()
    wrong = []
    for name, number, line in lines_with_payload():
        exception = exception_of(name, line)
        if exception is None:
            wrong.append(f"{name}:{number}: {line[:120]}")
        else:
            used[exception] += 1
    assert wrong == [], "write input for what a job gets, and data for what an event or a notification carries"
    assert used.keys() == FOREIGN.keys(), "an exception that nothing needs any more"


@pytest.mark.parametrize(
    ("name", "line", "ours"),
    [
        ("src/workbell/client/bell.py", "def enqueue(self, job: str, payload: Any) -> Run:", True),
        ("src/workbell/model/suggestions.py", "payload = 1", True),
        ("docs/five-designs.md", "You pass a payload.", True),
        (f"{KUMOFIRE}tables.py", "payload: str | None", False),
    ],
)
def test_exceptions_are_narrow(name: str, line: str, ours: bool) -> None:
    assert (exception_of(name, line) is None) is ours


def test_the_word_of_others_is_answered_with_ours() -> None:
    assert find_near("payload", ["input", "data", "queue"]) == "input"
    assert find_near("payload", ["data", "type"]) == "data"
    assert find_near("payload", ["queue"]) is None
    assert list_options("payload", {"input", "queue"}).startswith("did you mean input=?")

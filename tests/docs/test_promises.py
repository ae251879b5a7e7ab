"""A promise without a test is a hope: each names the tests that show it, and they exist."""

from __future__ import annotations

import re
from pathlib import Path

from tests.docs.pages import DOCS, ROOT, text_of

NAMED = re.compile(r"`((?:tests|src)/[\w/]+\.py)::([\w:]+)`")


def defines(file: Path, names: list[str]) -> bool:
    """Whether a file has this function, class, or class and method.

    By the beginnings of its lines, which a formatter has put there: to parse all these files takes seconds.
    """
    if not file.is_file():
        return False
    body = file.read_text("utf-8")
    for depth, name in enumerate(names):
        margin = "    " * depth
        # also `TestStores = StoreMachine.TestCase`
        found = re.search(rf"^{margin}(?:(?:async )?def {name}\(|class {name}\b|{name} = )", body, re.MULTILINE)
        if found is None:
            return False
        body = re.split(rf"\n{margin}(?=[\w@])", body[found.start() :], maxsplit=1)[0]
    return True


def test_every_named_test_exists() -> None:
    named = NAMED.findall(text_of(DOCS / "promises.md"))
    assert len(named) >= 15
    assert [f"{path}::{test}" for path, test in named if not defines(ROOT / path, test.split("::"))] == []


def test_a_test_that_is_not_there_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "test_one.py"
    file.write_text(
        "def test_one(\n) -> None: ...\n\n\nclass TestTwo:\n    async def test_three(self): ...\n\n\nX = 1\n"
    )
    for name in ("test_one", "TestTwo", "TestTwo::test_three", "X"):
        assert defines(file, name.split("::")), name
    for name in ("test_on", "test_three", "TestTw", "TestTwo::test_one", "TestTwo::X", "test_one::test_three"):
        assert not defines(file, name.split("::")), name
    assert not defines(tmp_path / "test_two.py", ["test_one"])


def test_every_promise_names_a_test() -> None:
    promised = text_of(DOCS / "promises.md").partition("## What is not promised")[0]
    sections = re.split(r"^### ", promised, flags=re.MULTILINE)[1:]
    assert len(sections) >= 8
    assert [section.splitlines()[0] for section in sections if not NAMED.search(section)] == []

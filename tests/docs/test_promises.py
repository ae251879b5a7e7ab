"""A promise without a test is a hope: each names the tests that show it, and they exist."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

from tests.docs.pages import DOCS, ROOT, text_of

NAMED = re.compile(r"`((?:tests|src)/[\w/]+\.py)::([\w:]+)`")


@cache
def body_of(file: Path) -> list[ast.stmt]:
    return ast.parse(file.read_text("utf-8")).body


def defines(file: Path, names: list[str]) -> bool:
    """Whether a file has this function, class, or class and method."""
    if not file.is_file():
        return False
    body = body_of(file)
    for name in names:
        found = [node for node in body if name in names_of(node)]
        if not found:
            return False
        body = list(getattr(found[0], "body", []))
    return True


def names_of(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Assign):  # `TestStores = StoreMachine.TestCase`
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    return []


def test_every_named_test_exists() -> None:
    named = NAMED.findall(text_of(DOCS / "promises.md"))
    assert len(named) >= 15
    assert [f"{path}::{test}" for path, test in named if not defines(ROOT / path, test.split("::"))] == []


def test_every_promise_names_a_test() -> None:
    promised = text_of(DOCS / "promises.md").partition("## What is not promised")[0]
    sections = re.split(r"^### ", promised, flags=re.MULTILINE)[1:]
    assert len(sections) >= 8
    assert [section.splitlines()[0] for section in sections if not NAMED.search(section)] == []

"""What the page about the architecture says about the code: files, and functions in the order of their calls."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

from tests.docs.pages import DOCS, text_of
from tests.support.way import HOME, Function

PAGE = DOCS / "explanation" / "architecture.md"
FILE = re.compile(r"`([\w/]+\.(?:py|sql|mjs))`")
FUNCTION = re.compile(r"(?:`(?P<file>[\w/]+\.py)`\s+)?(?P<name>(?:[A-Z]\w+\.)?[a-z_]\w*)(?=[\s.,(]|$)")


def section(title: str) -> str:
    """The text below a heading."""
    return text_of(PAGE).split(f"\n## {title}\n")[1].split("\n## ")[0]


def way(name: str) -> str:
    """The text of one of the ways, such as `A run`."""
    return section("The ways").split(f"**{name}.**")[1].split("\n**")[0]


def functions(text: str) -> list[Function]:
    """Functions of a way. One whose file is not said was named with it before."""
    found: list[Function] = []
    for step in re.split(r"→|[,:.]\s", text):
        named = FUNCTION.search(step.strip())
        if named is None or not (named["file"] or "." in named["name"]):
            continue
        known = [one.file for one in found if one.name.split(".")[0] == named["name"].split(".")[0]]
        found.append(Function(named["file"] or next(iter(known), ""), named["name"]))
    return found


@cache
def defined(file: str) -> frozenset[str]:
    """Qualified names of the functions that a file of ours defines."""
    names = set()
    for node in ast.parse((Path(HOME) / file).read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.ClassDef):
            names |= {
                f"{node.name}.{part.name}"
                for part in node.body
                if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef)
            }
    return frozenset(names)

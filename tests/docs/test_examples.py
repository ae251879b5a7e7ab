"""Every ```python block of the README, the tutorial and the how-to pages runs.

Unless the line before it says `<!-- no-run -->`. The blocks of a page run one after another in one namespace,
in a folder of their own; a page that holds tests is run by pytest. Lines keep their numbers, so that a
failure points into the page. Files that the page has saved beside it (`<!-- file: jobs.py -->`) are there.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, ROOT, blocks, files, name_of, plain_environment, text_of
from tests.support import warm

RUNNABLE = [ROOT / "README.md", DOCS / "tutorial.md", DOCS / "coming-from.md", *sorted((DOCS / "how-to").glob("*.md"))]
SCRIPT = "test_page.py"
AS_PROGRAM = ["tests.support.page", SCRIPT]
AS_TESTS = ["pytest", "-q", "-p", "no:cacheprovider", "-p", "workbell.testing.plugin", SCRIPT]


def as_script(parts: list[tuple[int, str]]) -> str:
    """The blocks as one file in which every line has the number that it has on the page."""
    lines: list[str] = []
    for start, code in parts:
        lines += [""] * (start - len(lines)) + code.splitlines()
    return "\n".join(lines) + "\n"


def holds_tests(script: str) -> bool:
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return any(isinstance(node, functions) and node.name.startswith("test_") for node in ast.parse(script).body)


@pytest.mark.parametrize("page", RUNNABLE, ids=name_of)
def test_examples_run(page: Path, tmp_path: Path) -> None:
    script = as_script(blocks(text_of(page), "python"))
    (tmp_path / SCRIPT).write_text(script, "utf-8")
    for path, text in files(text_of(page)):
        (tmp_path / path).write_text(text, "utf-8")
    module, *arguments = AS_TESTS if holds_tests(script) else AS_PROGRAM
    done = warm.run(module, *arguments, folder=tmp_path, environment=plain_environment())
    assert done.returncode == 0, f"{name_of(page)}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"


def test_the_pages_that_run_have_examples() -> None:
    """A marker on every block would make the test above say nothing."""
    counted = {name_of(page): len(blocks(text_of(page), "python")) for page in RUNNABLE}
    assert sum(counted.values()) > 20, counted
    assert counted["README.md"] >= 1
    assert counted["docs/tutorial.md"] >= 5

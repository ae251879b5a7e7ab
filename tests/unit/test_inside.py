"""Tests of behaviour import public modules; names from inside come through `tests.support.inside`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import workbell

TESTS = Path(__file__).parents[1]
FOLDERS = ("client", "http", "integration", "remote")
INSIDE = TESTS / "support" / "inside"
PUBLIC = {
    "workbell",
    "workbell.testing",
    "workbell.alembic",  # users import `include_name` from it (docs/how-to/frameworks.md)
    "workbell.flask",  # and `init_app` from this one
}


def imports(source: str) -> Iterator[tuple[str, str | None]]:
    """Module and name of each import, wherever it stands; no name for `import module`."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            yield from ((node.module or "", one.name) for one in node.names)
        elif isinstance(node, ast.Import):
            yield from ((one.name, None) for one in node.names)


def forbidden(source: str) -> list[str]:
    """The imports that lead into Workbell past its public modules."""
    found = []
    for module, name in imports(source):
        if module == "workbell":
            allowed = name is None or name in workbell.__all__ or f"workbell.{name}" in PUBLIC
        else:
            allowed = module in PUBLIC or not module.startswith("workbell.")
        if not allowed:
            found.append(f"{module}.{name}" if name else module)
    return found


def files() -> list[Path]:
    return [file for folder in FOLDERS for file in sorted((TESTS / folder).rglob("*.py"))]


def test_tests_of_behaviour_import_public_modules() -> None:
    found = {str(file.relative_to(TESTS)): told for file in files() if (told := forbidden(file.read_text()))}
    assert not found, "import it from workbell, workbell.testing or tests.support.inside"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("from workbell import Run, Workbell, testing", []),
        ("import workbell, workbell.testing", []),
        ("from workbell.flask import init_app", []),
        ("from tests.support.inside.values import Settings", []),
        ("from workbell.model.run import Run", ["workbell.model.run.Run"]),
        ("from workbell.testing.sqlite_files import SqliteFiles", ["workbell.testing.sqlite_files.SqliteFiles"]),
        ("from workbell import errors", ["workbell.errors"]),
        ("import workbell.model.run as run", ["workbell.model.run"]),
        ("def test():\n    from workbell.settings import load", ["workbell.settings.load"]),
    ],
)
def test_what_is_forbidden(line: str, told: list[str]) -> None:
    assert forbidden(line) == told


def test_every_name_from_inside_is_taken() -> None:
    taken = {one for file in files() for one in imports(file.read_text())}
    given = {
        (f"tests.support.inside.{file.stem}", name.asname or name.name)
        for file in INSIDE.glob("*.py")
        for node in ast.parse(file.read_text()).body
        if isinstance(node, ast.ImportFrom)
        for name in node.names
    }
    assert len(given) > 100
    assert given <= taken, "delete the names that no test takes any more"

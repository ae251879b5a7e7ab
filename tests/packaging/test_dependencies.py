"""Dependencies: each library that is imported is declared, and one whose private parts are used has an upper bound."""

from __future__ import annotations

import ast
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
# Classes that we extend by what is not documented of them: their attributes may change in any version.
EXTENDED = {
    "uvicorn.protocols.http.h11_impl",
    "uvicorn.protocols.websockets.websockets_sansio_impl",
    "uvicorn.server",
}
# With uvicorn's class comes the connection of websockets, whose `debug` and `logger` are set. What a wrong body is told
# is read out of the texts of msgspec's errors.
REACHED = {"msgspec", "websockets"}
# Libraries of the application, whose objects it hands in: they are there. pytest calls the plugin, so it is there too.
OF_THE_APPLICATION = {"asgiref", "django", "django_tasks", "flask", "psycopg2", "pytest", "sqlalchemy"}


def imports() -> Iterator[tuple[str, str]]:
    """Modules and names that the package imports from elsewhere."""
    for path in sorted((ROOT / "src" / "workbell").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                yield from ((alias.name, "") for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module is not None and not node.level:
                yield from ((node.module, alias.name) for alias in node.names)


def foreign() -> dict[str, set[tuple[str, str]]]:
    """Imports by library: neither ours nor Python's own."""
    found: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for module, name in imports():
        library = module.partition(".")[0]
        if library not in sys.stdlib_module_names | {"workbell"}:
            found[library].add((module, name))
    return found


def declared() -> dict[str, list[Requirement]]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    lists = [project["dependencies"], *(extras[name] for name in extras if name not in ("all", "dev"))]
    found: dict[str, list[Requirement]] = defaultdict(list)
    for requirement in (Requirement(text) for listed in lists for text in listed):
        found[requirement.name].append(requirement)
    return found


def private() -> set[str]:
    """Libraries of which something is used that its authors have not promised."""
    found = set(REACHED)
    for library, uses in foreign().items():
        for module, name in uses:
            path = f"{module}.{name}"
            hidden = any(part.startswith("_") and not part.endswith("__") for part in path.split("."))
            if hidden or module in EXTENDED:
                found.add(library)
    return found


def is_bounded(requirement: Requirement) -> bool:
    return any(one.operator in ("<", "<=", "==", "~=") for one in requirement.specifier)


def test_each_imported_library_is_declared() -> None:
    assert foreign().keys() - declared().keys() - OF_THE_APPLICATION == set()


def test_bounds_are_where_private_parts_are_used_and_nowhere_else() -> None:
    bounded = {name for name, listed in declared().items() if any(map(is_bounded, listed))}
    assert bounded == private() == {"msgspec", "uvicorn", "websockets"}
    assert all(is_bounded(one) for name in bounded for one in declared()[name]), "one extra has it, another has not"

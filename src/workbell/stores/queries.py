"""The SQL files: queries by name, one shared file and one of overrides for each engine, and the migrations.

A query starts with a line `-- name: purpose`. `:word` is a parameter. An engine's file overrides the shared one by
name, so that file is the list of what the engine does differently.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

_START = re.compile(r"^-- (\w+): .+$", re.MULTILINE)
_PARAMETER = re.compile(r"(?<![:\w]):([a-z_]+)")


def read(path: str) -> str:
    return files("workbell.stores").joinpath("sql", path).read_text("utf-8")


@cache
def queries(engine: str) -> dict[str, str]:
    """All queries of an engine, with its overrides in place."""
    found: dict[str, str] = {}
    for folder in ("", "events/", "service/"):
        found |= parse(read(f"{folder}shared.sql")) | parse(read(f"{folder}{engine}.sql"))
    return found


def spell_postgres(text: str) -> str:
    """`:word` as psycopg writes it."""
    return _PARAMETER.sub(r"%(\1)s", text.replace("%", "%%"))


def parse(text: str) -> dict[str, str]:
    parts = _START.split(text)
    found: dict[str, str] = {}
    for name, body in zip(parts[1::2], parts[2::2], strict=True):
        if name in found:
            raise ValueError(f"the query {name} is there twice")
        found[name] = "\n".join(line for line in body.splitlines() if not line.lstrip().startswith("--")).strip()
    return found


@cache
def migrations(engine: str) -> list[tuple[int, str, str]]:
    """The numbered migrations of an engine: number, name, SQL."""
    folder = files("workbell.stores").joinpath("sql", "migrations", engine)
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return [(int(name[:4]), name.removesuffix(".sql"), read(f"migrations/{engine}/{name}")) for name in names]

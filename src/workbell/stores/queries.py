"""The SQL files: queries by name, in one folder for each part of a store, and the migrations.

A query starts with a line `-- name: purpose`. `:word` is a parameter. A folder has a shared file and one of overrides
for each engine, by name: that file is the list of what the engine does differently. Macros make one text of queries
that would differ only in how a batch comes in, or in that rows are locked where several write at once:

    {among ids uuid}                     the condition that a column is one of a list
    {rows new: id uuid, at timestamptz}  rows of a parameter `Rows`, as a table `new` with these columns
    {lock_free}                          locks the rows that are read, without those that others have locked
    {overlaps}                           the condition that a live run `r` is in the way of its schedule's next tick
    {tag_lanes}                          lanes `own` of a tenant, all that have live runs of a tag among them

`{new_runs}` is that for the columns of a new run. A time in an answer is recognised by the name of its column.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

FOLDERS = (
    "sql access agents events jobs limits logs notifications pauses reports runs schedules subscribers tallies workers"
).split()
# Columns of a new run, with the types that PostgreSQL needs; the rest have defaults.
NEW_RUN = (
    "id uuid, lane bigint, status text, rank smallint, scheduled_for timestamptz, created_at timestamptz, "
    "updated_at timestamptz, input text, options text, tag text, key text, user_id bigint, schedule uuid, event uuid, "
    "retry_of uuid, rescheduled_from uuid, accepted_by text, expires_at timestamptz"
)
# `is_overlap` of model/schedule.py: a follow-up that has not started is not in the way.
OVERLAPS = "(r.rescheduled_from IS NULL OR r.attempt > 0)"
# From a lane that has runs of the tag to the tenant's next lane, and on from there. So it takes as many steps as the
# tenant has lanes, or the tag, whichever are fewer: a tenant may have very many lanes, and a tag very many tenants.
TAG_LANES = """RECURSIVE own(lane) AS (
    SELECT CAST(-1 AS bigint)
    UNION ALL
    SELECT (SELECT min(l.id) FROM workbell_lanes l WHERE l.tenant = :tenant
        AND l.id >= (SELECT min(r.lane) FROM workbell_runs r WHERE r.tag = :tag AND r.lane > own.lane))
    FROM own WHERE own.lane IS NOT NULL
)"""
_START = re.compile(r"^-- (\w+): .+$", re.MULTILINE)
_PARAMETER = re.compile(r"(?<![:\w]):([a-z_]+)")
_AMONG = re.compile(r"\{among (\w+) (\w+)\}")
_ROWS = re.compile(r"\{rows (\w+): ([^}]+)\}")


def _folder(path: str) -> Traversable:
    return files("workbell.stores").joinpath(*path.split("/"))


MIGRATIONS = _folder("sql/migrations")  # a folder for each engine


@cache
def queries(engine: str) -> dict[str, str]:
    """All queries of an engine, with its overrides."""
    found: dict[str, str] = {}
    for path in FOLDERS:
        there: dict[str, str] = {}
        for name in ("shared.sql", f"{engine}.sql"):
            file = _folder(path).joinpath(name)
            if file.is_file():
                there |= parse(file.read_text("utf-8"))
        twice = sorted(there.keys() & found.keys())
        if twice:
            raise ValueError(f"the query {twice[0]} of {path} is in another folder as well")
        found |= there
    return {
        name: expand(text.replace("{new_runs}", f"{{rows new: {NEW_RUN}}}"), engine) for name, text in found.items()
    }


def expand(text: str, engine: str) -> str:
    """Write out the macros the way of an engine."""
    text = text.replace("{new_runs}", f"{{rows new: {NEW_RUN}}}").replace("{overlaps}", OVERLAPS)
    text = text.replace("{tag_lanes}", TAG_LANES)
    if engine == "postgres":
        text = text.replace("{lock_free}", "FOR UPDATE SKIP LOCKED")
        # As a subquery, whose length the planner does not know: for 400 ids and 20,000 rows it scanned the table.
        text = _AMONG.sub(r"= ANY(ARRAY(SELECT unnest(CAST(:\1 AS \2[]))))", text)
        return _ROWS.sub(lambda found: _unnest(found[1], _columns(found[2])), text)
    text = text.replace("{lock_free}", "")
    text = _AMONG.sub(r"IN (SELECT value FROM json_each(:\1))", text)
    return _ROWS.sub(lambda found: _json_each(found[1], _columns(found[2])), text)


def _columns(listed: str) -> list[tuple[str, str]]:
    """Names and types."""
    found = []
    for column in listed.split(","):
        name, _, kind = " ".join(column.split()).partition(" ")
        found.append((name, kind))
    return found


def _unnest(table: str, columns: list[tuple[str, str]]) -> str:
    arrays = ", ".join(f"CAST(:{name} AS {kind}[])" for name, kind in columns)
    return f"unnest({arrays}) AS {table}({', '.join(name for name, _ in columns)})"


def _json_each(table: str, columns: list[tuple[str, str]]) -> str:
    listed = ", ".join(f"value ->> {index} AS {name}" for index, (name, _) in enumerate(columns))
    return f"(SELECT {listed} FROM json_each(:rows)) AS {table}"  # noqa: S608


def psycopg_parameters(text: str) -> str:
    """SQL with `:word` parameters written as psycopg takes them: `%(word)s`."""
    return _PARAMETER.sub(r"%(\1)s", text.replace("%", "%%"))


def numbered_parameters(text: str) -> tuple[str, tuple[str, ...]]:
    """SQL with `:word` parameters written as numbers, and the words in their order: `$1` is the first."""
    words = tuple(dict.fromkeys(_PARAMETER.findall(text)))
    numbers = {word: f"${number}" for number, word in enumerate(words, 1)}
    return _PARAMETER.sub(lambda found: numbers[found[1]], text), words


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
    found = sorted(MIGRATIONS.joinpath(engine).iterdir(), key=lambda file: file.name)
    return [(int(file.name[:4]), file.name.removesuffix(".sql"), file.read_text("utf-8")) for file in found]

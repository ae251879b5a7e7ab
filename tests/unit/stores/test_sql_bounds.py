"""Every query has a bound: how many rows it answers or writes does not grow with what users store.

A SELECT, UPDATE or DELETE of a table has a LIMIT, names rows by a key, or is listed below with the reason why there are
few. An aggregate reads all that it counts: it needs a LIMIT within, or a key. min and max are one step of an index.
"""

from __future__ import annotations

import re
import sqlite3
import sys
from collections.abc import Iterator, Set
from functools import cache
from importlib.resources import files

import pytest

from tests.support.sql_scopes import Nodes, Scope, scopes
from workbell.stores.queries import migrations, parse
from workbell.stores.queries import queries as texts

ENGINES = ("sqlite", "postgres", "d1", "kumofire")

_RECURSIVE = re.compile(r"(?:RECURSIVE|,)\s+(\w+)\([^)]*\) AS (?=\()")
Equalities = list[tuple[str, Nodes]]

# Queries that answer, write or read as many rows as there are, and why there are few.
FEW: dict[str, str] = {
    # Registries: rows that operators and processes make, which somebody reads as a whole.
    "agents": "one row for each agent that was paired",
    "list_agents": "one row for each agent that was paired",
    "workers": "one row for each worker; lost ones go after a day",
    "services": "one row for each process that serves the API",
    "accepting": "one step for each process that accepts runs which end with it",
    # Settings: what code and operators declare. Processes keep them; a version says when to read them again.
    "definitions": "one row for each job as data, kept by every process",
    "disabled_definitions": "the disabled jobs as data of the tenants that are shown",
    "list_jobs": "one row for each job",
    "triggers": "one row for each trigger, kept by every scheduler",
    "list_triggers": "one row for each trigger",
    "endpoints": "one row for each endpoint, kept by every scheduler",
    "list_endpoints": "one row for each endpoint",
    "all_health": "one row for each endpoint; for a copy",
    "failing_endpoints": "fewer than there are endpoints",
    "tenants": "one row for each tenant that an operator has set something for, kept by every worker",
    "pauses": "one row for each pause",
    "pauses_of_tenant": "one row for each pause",
    "remove_pauses": "one row for each paused job of a queue, or queue of a job",
    # Figures: minutes times names of queues and jobs, in a span that the caller bounds.
    "sum_tallies": "steps of a chart, by job and status",
    "totals": "one row for each job in a queue and status",
    # What is running: workers have so many slots.
    "held_by": "the slots of a worker",
    "held_by_worker": "the slots of all workers",
    "leases": "the slots of all workers",
    "leases_of": "the slots of some workers",
    "running_by_lane": "the slots of all workers",
    "running_in_lane": "the slots of all workers",
    "running_within": "lanes of a limit, and the slots of all workers",
    "started_now": "what a claim has just started",
    "as_many_started": "what a claim has just started",
    "note_starts": "what a claim has just started",
    # Others
    "delete_lanes": "a page of idle lanes; scheduled runs have no index by lane, so the lanes of all of them are read",
    "survey_targets": "lanes of the targets of one agent; the most urgent rank of all of them comes first",
    "kumofire_total": "counted once, before an import",
}


def queries(engine: str) -> dict[str, str]:
    if engine in ("d1", "kumofire"):
        found = parse(files("workbell.stores").joinpath(engine, f"{engine}.sql").read_text("utf-8"))
        return {name: text.replace("kumofire_job", "workbell_kumofire_job") for name, text in found.items()}
    return texts(engine)


@cache
def keys() -> dict[str, list[frozenset[str]]]:
    """The columns of the primary key and of each unique index of a table."""
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE workbell_meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)")
    for _, _, text in migrations("sqlite"):
        connection.executescript(text)
    found: dict[str, list[frozenset[str]]] = {}
    for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        columns = connection.execute(f"PRAGMA table_info({table})").fetchall()
        listed = [frozenset(row[1] for row in columns if row[5])]
        for index in connection.execute(f"PRAGMA index_list({table})").fetchall():
            if index[2]:
                listed.append(frozenset(row[2] for row in connection.execute(f"PRAGMA index_info({index[1]})")))
        found[table] = [key for key in listed if key] + [frozenset({"rowid"}), frozenset({"ctid"})]
    connection.close()
    return found


def without_bound(engine: str) -> Iterator[tuple[str, str]]:
    """Names of queries, and what in them has no bound."""
    for name, text in queries(engine).items():
        every = scopes(text)
        parts = {id(part) for scope in every for found in scope.ctes.values() for part in found}
        recursive = set(_RECURSIVE.findall(text)) if "RECURSIVE" in text else set()
        for scope in every:
            if "LIMIT" in scope.nodes or is_asked_whether(scope) or is_one_step(scope) or is_pulled(scope):
                continue
            if id(scope) not in parts and recursive & {node for node in scope.nodes if isinstance(node, str)}:
                yield name, "it takes all steps"
            named = named_by_key(scope)
            yield from (
                (name, f"{table} has no LIMIT") for alias, table in read_by(scope).items() if alias not in named
            )


def read_by(scope: Scope) -> dict[str, str]:
    """The tables that a scope reads, by alias."""
    return {alias: table for alias, table in scope.tables.items() if scope.verb != "INSERT" or table != scope.target}


def is_pulled(scope: Scope) -> bool:
    """`… CROSS JOIN LATERAL (…) LIMIT 5`: its rows are read one by one, until there are enough."""
    if scope.outer is None or "LIMIT" not in scope.outer.nodes or "ORDER" in scope.outer.nodes:
        return False
    found = scope.outer.inner
    return any(word == "LATERAL" and scope in found.get(id(node), ()) for word, node in lists_in(scope.outer.nodes))


def is_asked_whether(scope: Scope) -> bool:
    """`EXISTS (…)`: it ends with the first row."""
    if scope.outer is None:
        return False
    found = scope.outer.inner
    return any(word == "EXISTS" and scope in found.get(id(node), ()) for word, node in lists_in(scope.outer.nodes))


def lists_in(nodes: Nodes) -> Iterator[tuple[str | Nodes, Nodes]]:
    """What stands between parentheses, with the word before it."""
    before: str | Nodes = ""
    for node in nodes:
        if isinstance(node, list):
            yield before, node
            yield from lists_in(node)
        before = node


def is_one_step(scope: Scope) -> bool:
    """`SELECT min(…) FROM one table`."""
    return scope.nodes[1] in ("min", "max") and scope.nodes[3:4] == ["FROM"] and len(scope.tables) == 1


def named_by_key(scope: Scope) -> set[str]:
    """The tables whose rows are found by a key: by a parameter, a batch, or a row that was found before."""
    equal, read = list(equalities(scope)), read_by(scope)
    named: set[str] = set()
    while True:
        more = {alias for alias in read.keys() - named if has_key(alias, equal, read, read.keys() - named)}
        if not more:
            return named
        named |= more


def has_key(alias: str, equal: Equalities, read: dict[str, str], unnamed: Set[str]) -> bool:
    columns = set()
    for column, other in equal:
        of, _, name = column.rpartition(".")
        if (of == alias or (not of and len(read) == 1)) and not aliases_in(other) & unnamed:
            columns.add(name)
    return any(key <= columns for key in keys().get(read[alias], ()))


def equalities(scope: Scope) -> Iterator[tuple[str, Nodes]]:
    """Columns, and what they are equal to: of WHERE, and of joins."""
    for part in [*scope.conjuncts(), *joined_on(scope.nodes)]:
        if part[1:2] not in (["="], ["IN"]):
            continue
        columns = part[0] if isinstance(part[0], list) else [part[0]]
        yield from ((column, part[2:]) for column in columns if isinstance(column, str))
        if part[1] == "=" and len(part) == 3 and isinstance(part[2], str):
            yield part[2], [part[0]]


def joined_on(nodes: Nodes) -> Iterator[Nodes]:
    for place, node in enumerate(nodes):
        if node == "ON" and nodes[place + 1 : place + 2] != ["CONFLICT"]:
            part: Nodes = []
            for each in nodes[place + 1 :]:
                if each in ("AND", "WHERE", "JOIN", "LEFT", "CROSS", "ORDER", "GROUP", "LIMIT", "RETURNING"):
                    yield part
                    part = []
                    if each != "AND":
                        break
                else:
                    part.append(each)
            yield part


def aliases_in(nodes: Nodes) -> set[str]:
    return {node.rpartition(".")[0] for node in nodes if isinstance(node, str)} - {""}


def drawn_from_all(engine: str) -> Iterator[str]:
    """Queries that sort a table by chance: a LIMIT does not keep them from reading all of it."""
    for name, text in queries(engine).items():
        if any("random" in scope.nodes and read_by(scope) for scope in scopes(text)):
            yield name


@pytest.mark.parametrize("engine", ENGINES)
def test_every_query_has_a_bound(engine: str) -> None:
    assert [(name, wrong) for name, wrong in without_bound(engine) if name not in FEW] == []
    assert [*drawn_from_all(engine)] == []


def test_what_is_listed_has_no_bound() -> None:
    """Else its reason is about nothing."""
    assert FEW.keys() - {name for engine in ENGINES for name, _ in without_bound(engine)} == set()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT id FROM workbell_runs r WHERE r.tag = :tag", "workbell_runs has no LIMIT"),
        ("SELECT count(*) FROM workbell_history", "workbell_history has no LIMIT"),
        ("DELETE FROM workbell_logs WHERE run = :run", "workbell_logs has no LIMIT"),
        ("UPDATE workbell_tokens SET revoked_at = :now WHERE tenant = :tenant", "workbell_tokens has no LIMIT"),
        ("SELECT r.id FROM workbell_lanes l JOIN workbell_runs r ON r.lane = l.id WHERE l.id = :id", "_runs has no"),
        ("SELECT (SELECT max(r.rank) FROM workbell_runs r, workbell_lanes l)", "workbell_lanes has no LIMIT"),
        ("INSERT INTO workbell_reads (id) SELECT n.id FROM workbell_notifications n", "workbell_notifications has no"),
        ("WITH old AS (SELECT id FROM workbell_runs) DELETE FROM workbell_runs WHERE id IN (SELECT id FROM old)",
            "workbell_runs has no LIMIT"),
        ("WITH RECURSIVE step(lane) AS (SELECT min(lane) FROM workbell_runs UNION ALL SELECT (SELECT min(r.lane) "
            "FROM workbell_runs r WHERE r.lane > step.lane) FROM step) SELECT lane FROM step", "it takes all steps"),
    ],
)  # fmt: skip
def test_a_query_without_a_bound_is_found(text: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "queries", lambda _engine: {"planted": text})
    assert any(said in wrong for _, wrong in without_bound("sqlite"))


def test_a_lot_among_all_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "SELECT id FROM workbell_runs ORDER BY random() LIMIT :limit"
    monkeypatch.setattr(sys.modules[__name__], "queries", lambda _engine: {"planted": text})
    assert [*drawn_from_all("sqlite")] == ["planted"]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT id FROM workbell_runs WHERE id = :id",
        "SELECT id FROM workbell_runs WHERE tag = :tag LIMIT 5",
        "DELETE FROM workbell_keys WHERE tenant = :tenant AND key = :key",
        "SELECT r.id FROM workbell_keys k JOIN workbell_runs r ON r.id = k.run WHERE k.tenant = :t AND k.key = :key",
        "SELECT min(scheduled_for) FROM workbell_runs",
        "SELECT id FROM workbell_runs r WHERE r.id = :id AND NOT EXISTS (SELECT 1 FROM workbell_pauses p)",
    ],
)
def test_a_query_with_a_bound_is_not(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "queries", lambda _engine: {"planted": text})
    assert [*without_bound("sqlite")] == []

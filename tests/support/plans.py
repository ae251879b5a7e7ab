"""What PostgreSQL does for a statement: nodes, indexes and pages, from EXPLAIN (ANALYZE, BUFFERS), undone after."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import psycopg

from workbell.stores.postgres.dialect import QUERIES

_PARAMETER = re.compile(r"%\((\w+)\)s")
BIG = (
    "workbell_runs workbell_history workbell_keys workbell_attempts workbell_schedules workbell_ticks workbell_reports "
    "workbell_events workbell_matches workbell_tokens workbell_audit workbell_notifications "
    "workbell_reads workbell_answers workbell_tallies"
).split()


class Plan(NamedTuple):
    nodes: set[str]
    indexes: set[str]
    read_in_full: set[str]  # tables, by a sequential scan
    rows: int
    pages: int
    text: str


def explain(conninfo: str, name: str, values: dict[str, Any], *, generic: bool = False) -> Plan:
    """Run a named statement of the store and say how it was done; whatever it changed is rolled back."""
    places: list[str] = []

    def number(found: re.Match[str]) -> str:
        if found[1] not in places:
            places.append(found[1])
        return f"${places.index(found[1]) + 1}"

    text = _PARAMETER.sub(number, QUERIES[name]).replace("%%", "%")
    with psycopg.connect(conninfo, cursor_factory=psycopg.ClientCursor) as connection:
        connection.execute(f"SET plan_cache_mode = force_{'generic' if generic else 'custom'}_plan")
        connection.execute(f"PREPARE statement AS {text}")
        given = [values[place] for place in places]
        call = f"EXECUTE statement({', '.join(['%s'] * len(given))})" if given else "EXECUTE statement"
        row = connection.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {call}", given).fetchone()
        connection.rollback()
    assert row is not None
    root = row[0][0]["Plan"]
    every = list(_walk(root))
    return Plan(
        nodes={node["Node Type"] for node in every},
        indexes={node["Index Name"] for node in every if "Index Name" in node},
        read_in_full={node["Relation Name"] for node in every if _reads_in_full(node)} & set(BIG),
        rows=root["Actual Rows"],
        pages=root["Shared Hit Blocks"] + root["Shared Read Blocks"],
        text=json.dumps(root, indent=1),
    )


def _walk(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", ()):
        yield from _walk(child)


def _reads_in_full(node: dict[str, Any]) -> bool:
    return node["Node Type"] in ("Seq Scan", "Parallel Seq Scan") and node["Actual Loops"] > 0

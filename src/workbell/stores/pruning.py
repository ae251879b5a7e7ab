"""Removal of rows with parts that are rows of their own, as log lines of runs are: in writes of a bounded size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from workbell.stores.database import Database, Statement

# Rows of each part in one write. A run may have a thousand log lines for each attempt: a batch of a thousand such runs
# was one write of millions of rows, under SQLite's lock.
MOST_PARTS = 5000


class Pruned(NamedTuple):
    """How many rows were removed, and whether parts are left of others whose time is over."""

    rows: int
    more: bool


def remove_with_parts(database: Database, query: str, parts: Sequence[str], values: Mapping[str, Any]) -> Pruned:
    """Remove a batch of rows, and before them their parts, by the queries `parts`: a row with parts left stays for now.

    Where several write at once, one statement does both, and answers a NULL if parts are left.
    """
    given = {**values, "parts": MOST_PARTS}
    if database.dialect.one_writer:
        answers = database.write([Statement(name, given) for name in (*parts, query)])
        return Pruned(len(answers[-1]), any(len(removed) >= MOST_PARTS for removed in answers[:-1]))
    (found,) = database.write([Statement(query, given)])
    removed = sum(row[0] is not None for row in found)
    return Pruned(removed, removed < len(found))

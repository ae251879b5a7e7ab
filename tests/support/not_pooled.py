"""Which tests `make test-pgbouncer` leaves out: those without PostgreSQL, and those in the table of `pgbouncer.md`."""

from __future__ import annotations

import os
import re
from pathlib import Path

import asyncpg
import psycopg
import pytest

POOLED = os.environ.get("WORKBELL_TEST_POOLER") == "transaction"
PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "pgbouncer.md"
_ROW = re.compile(r"^\| `(tests/[^`]+)` \| (.+) \|$", re.MULTILINE)


def exceptions() -> dict[str, str]:
    """Tests that do not run through the pooler, by the beginning of their ids, and why."""
    return dict(_ROW.findall(PAGE.read_text("utf-8")))


def leave_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    listed = exceptions()
    chosen = [item for item in items if _uses_pooler(item) and not item.nodeid.startswith(tuple(listed))]
    nowhere = [start for start in listed if not any(item.nodeid.startswith(start) for item in items)]
    files = {str(item.nodeid).partition("::")[0] for item in items}
    if gone := [start for start in nowhere if start.partition("::")[0] in files]:
        raise pytest.UsageError(f"{PAGE.name} lists tests that are not there: {', '.join(gone)}")
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = chosen


def prepare_nothing() -> None:
    """Have connections of the tests prepare nothing, as the page says of a user's own; ours find out by themselves."""
    for kind in (psycopg.Connection, psycopg.AsyncConnection):
        kind.connect.__func__.__kwdefaults__["prepare_threshold"] = None  # type: ignore[attr-defined]
    asyncpg.connect.__kwdefaults__["statement_cache_size"] = 0


def _uses_pooler(item: pytest.Item) -> bool:
    names = getattr(item, "fixturenames", ())
    params = item.callspec.params.values() if hasattr(item, "callspec") else ()
    return any(name in names for name in ("postgres_url", "empty_postgres_url", "pooler_port")) or any(
        param == "postgres" for param in params if isinstance(param, str)
    )

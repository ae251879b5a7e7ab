"""The next version of Workbell, as the tests imagine it: it has one migration more, and is otherwise this one.

A process becomes one of it for a while (`here`), or for good: `python -m … FOLDER OLDEST_READER ROLE`. The roles are
those of `worker_app`; `migrate`, which waits for the gate `go` and notes what it applied; and `command` with the
arguments of `workbell`. Caches are emptied at either end, as they hold the migrations.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from workbell.app import open_store
from workbell.stores import migrate, queries
from workbell.stores.d1 import query_set

from . import worker_app
from .recorder import Recorder

NUMBER = migrate.NEWEST + 1
NAME = f"{NUMBER:04}_notes"
# Columns of tables that are always in use, an index, and a table that is filled from what is there.
NOTES = """-- Notes on runs.

ALTER TABLE workbell_workers ADD COLUMN note text;
ALTER TABLE workbell_runs ADD COLUMN note text;
ALTER TABLE workbell_history ADD COLUMN note text NOT NULL DEFAULT 'none';
CREATE INDEX workbell_history_note ON workbell_history (note, id);
CREATE TABLE workbell_notes (
    run   {id} PRIMARY KEY,
    note  text NOT NULL
);
INSERT INTO workbell_notes (run, note) SELECT id, status FROM workbell_runs;
INSERT INTO workbell_notes (run, note) SELECT id, status FROM workbell_history;
"""
CACHES = (
    queries.migrations,
    query_set.migration_steps,
    query_set.answerings,
    query_set.query_set,
    query_set.digest,
)


class NextVersion(NamedTuple):
    """A version that knows one migration more."""

    folder: Path  # of all its migrations
    oldest_reader: int = 1  # the oldest code that can work with what it makes
    oldest: int = 1  # the oldest schema that it can work with itself

    @contextmanager
    def here(self) -> Iterator[None]:
        """This process is one of it."""
        with pytest.MonkeyPatch.context() as patch:
            self.put_on(patch.setattr)
            yield
        _empty_caches()

    def put_on(self, change: Callable[[Any, str, Any], None]) -> None:
        change(queries, "MIGRATIONS", self.folder)
        change(migrate, "NEWEST", NUMBER)
        change(migrate, "OLDEST", self.oldest)
        change(migrate, "OLDEST_READER", self.oldest_reader)
        _empty_caches()

    def arguments(self, *role: str) -> list[str]:
        """Of a process that is one of it."""
        return [str(self.folder), str(self.oldest_reader), *role]


def next_version(folder: Path, text: str = NOTES, **words: int) -> NextVersion:
    """Write its migrations: ours, and one more for each engine."""
    for engine, of_id in (("sqlite", "text"), ("postgres", "uuid")):
        there = folder / engine
        there.mkdir(parents=True)
        for _, name, ours in queries.migrations(engine):
            (there / f"{name}.sql").write_text(ours, "utf-8")
        (there / f"{NAME}.sql").write_text(text.replace("{id}", of_id), "utf-8")
    return NextVersion(folder, **words)


def _empty_caches() -> None:
    for cached in CACHES:
        cached.cache_clear()


def _migrate() -> None:
    recorder = Recorder(Path(os.environ["RECORDING"]))
    store = open_store(os.environ["WORKBELL_URL"])
    recorder.note("waiting")
    while not (Path(os.environ["GATES"]) / "go").exists():
        time.sleep(worker_app.GATE_PACE)
    recorder.note("migrated", applied=store.migrate())
    store.check()
    store.close()


def main(folder: str, oldest_reader: str, role: str, *arguments: str) -> None:
    worker_app.die_with_parent()
    NextVersion(Path(folder), int(oldest_reader)).put_on(setattr)
    if role == "migrate":
        _migrate()
    elif role == "command":
        from workbell.cli.main import run  # the commands read the newest version as they are imported

        sys.exit(run(arguments))
    else:
        worker_app.main(role, *arguments)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Tallies, in the store: how many runs ended, by minute, tenant, queue, job and status.

Each is added twice: to its minute, and to the total that stands at the beginning of time. So the totals are read
without adding anything up, and stay what they are when old minutes go.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec

from workbell.model.clock import EPOCH
from workbell.model.tally import Tally, TallySum
from workbell.stores.database import Batch, Database, Row, Rows, Statement, read_rows, write_rows
from workbell.stores.reading import Column, RowReader
from workbell.stores.tallies.merge import tally_key, with_totals

TALLY = Tally.__struct_fields__  # minute tenant queue job status count seconds wait buckets
KEY = TALLY[:5]
PAGE = 1000
MINUTE_RETENTION = timedelta(days=14)  # of single minutes

_buckets = msgspec.json.Decoder(tuple[int, ...])
_tallies = RowReader(TALLY, "", buckets=Column(_buckets.decode, ()))


Listed = list[Tally]  # inside the class `list` is the verb


class StoredTallies:
    """Tallies: the numbers behind the charts and `/metrics`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, tallies: Sequence[Tally]) -> None:
        """Add to what is there for the minute, tenant, queue, job and status."""
        if not tallies:
            return
        # In one order: two writers of the same tallies would deadlock otherwise.
        new = [tally for _, tally in sorted(with_totals(tallies).items())]
        write_rows(self._database, "add_tallies", rows=_rows(new))

    def sum(
        self, tenant: str, *, since: datetime, until: datetime, step: int, job: str | None, queue: str | None
    ) -> Sequence[TallySum]:
        """How many ended from then on and before, by steps of so many seconds: added up by the store, in no order."""
        values = {"tenant": tenant, "since": _after_totals(since), "until": until, "step": step}
        return [TallySum(*row) for row in read_rows(self._database, "sum_tallies", job=job, queue=queue, **values)]

    def totals(self) -> Listed:
        """All of each tenant, queue, job and status added up, also those that were removed since: never smaller."""
        return sorted(map(_tally, read_rows(self._database, "totals", minute=EPOCH)), key=tally_key)

    def prune(self, now: datetime, limit: int) -> int:
        """Remove minutes whose retention is over; how many."""
        return len(
            write_rows(self._database, "delete_tallies", total=EPOCH, before=now - MINUTE_RETENTION, limit=limit)
        )

    def export(self) -> Iterator[Sequence[Tally]]:
        """All tallies, in pages, in the order of their key."""
        key: tuple[Any, ...] = (EPOCH - timedelta(microseconds=1), "", "", "", "")
        while True:
            after = dict(zip(KEY, key, strict=True))
            page = [_tally(row) for row in read_rows(self._database, "export_tallies", limit=PAGE, **after)]
            if not page:
                return
            yield page
            key = tally_key(page[-1])

    def loading(self, tallies: Sequence[Tally]) -> Batch:
        """The statement that takes over tallies of another store; those that are there already stay as they are."""
        return [Statement("load_tallies", {"rows": _rows(tallies)})]


def _rows(tallies: Sequence[Tally]) -> Rows:
    values = [(*msgspec.structs.astuple(tally)[:-1], msgspec.json.encode(tally.buckets).decode()) for tally in tallies]
    return Rows(TALLY, values)


def _tally(row: Row) -> Tally:
    values = _tallies.read(row)
    del values["unreadable"]  # charts do without the durations of a minute
    return Tally(**values)


def _after_totals(since: datetime) -> datetime:
    return max(since, EPOCH + timedelta(microseconds=1))

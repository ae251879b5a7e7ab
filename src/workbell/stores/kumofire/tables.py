"""Kumofire's tables as values: definitions, schedules and runs, read in pages from whatever has them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import msgspec

from workbell.errors import StoreError
from workbell.model.json_text import clean_text

OLDEST, NEWEST = 1, 3  # versions of its schema that this can read
WITH_SCHEDULES, WITH_KEYS = 2, 3  # since when it has schedules, and keys of schedules
TABLES = ("kumofire_job_definitions", "kumofire_job_runs", "kumofire_job_locks")
PAGE = 200  # rows of a read: a row may have a payload of a megabyte


class KumofireSource(Protocol):
    """Where the tables are: a file, or a D1 database behind a bridge."""

    name: str  # for people

    def read(self, query: str, **values: Any) -> Sequence[Sequence[Any]]:
        """The rows of a named query."""

    def close(self) -> None: ...


class KumofireJob(msgspec.Struct, frozen=True):
    """A definition of a job. The fields stand in the order of the query's columns."""

    id: str
    name: str
    handler: str | None
    payload_template: str | None
    default_options: str | None
    created_at: str
    updated_at: str | None


class KumofireSchedule(msgspec.Struct, frozen=True):
    """A schedule."""

    id: str
    job_name: str
    schedule_type: str
    schedule_expr: str
    timezone: str | None
    next_run_at: str | None
    last_scheduled_at: str | None
    enabled: int
    payload: str | None
    max_attempts: int | None
    created_at: str
    updated_at: str | None
    schedule_key: str | None

    @property
    def name(self) -> str:
        return self.schedule_key or self.id


class KumofireRun(msgspec.Struct, frozen=True):
    """A run, and the end of its lock, if it has one."""

    id: str
    job_name: str
    status: str
    dedupe_key: str | None
    payload: str | None
    attempt: int
    max_attempts: int | None
    next_run_at: str | None
    created_at: str
    updated_at: str | None
    started_at: str | None
    finished_at: str | None
    last_error: str | None
    job_schedule_id: str | None
    lease_until: str | None


class HeldLock(NamedTuple):
    """A run that a consumer of Kumofire is working on."""

    run_id: str
    job: str
    until: str


T = TypeVar("T", bound=msgspec.Struct)


class BadRow(NamedTuple):
    """A row that has something else in it than its table says, and what."""

    id: str
    reason: str


class Page(NamedTuple, Generic[T]):
    rows: list[T]
    bad: list[BadRow]


class KumofireTables:
    """The tables behind a source, of a version that this can read."""

    def __init__(self, source: KumofireSource) -> None:
        self._source = source
        self.version = self._check()

    def _check(self) -> int:
        """The version of the schema; raises StoreError if it cannot be read."""
        there = {row[0] for row in self._source.read("kumofire_tables")}
        name = self._source.name
        if "kumofire_schema_version" not in there:
            raise StoreError(
                f"{name}: there are no tables of Kumofire Jobs, whose names begin with kumofire_; see whether it is "
                "the right database."
            )
        version = self._source.read("kumofire_version")[0][0] or 0
        if not OLDEST <= version <= NEWEST:
            raise StoreError(
                f"{name}: Kumofire's schema version is {version}, and versions {OLDEST} to {NEWEST} can be read; "
                + ("apply its migrations first." if version < OLDEST else "use a newer Workbell.")
            )
        wanted = [*TABLES, *(["kumofire_job_schedules"] if version >= WITH_SCHEDULES else [])]
        missing = [table for table in wanted if table not in there]
        if missing:
            raise StoreError(
                f"{name}: Kumofire's schema version is {version}, but {', '.join(missing)} is missing; export the "
                "whole database."
            )
        return int(version)

    def total(self) -> int:
        return int(self._source.read("kumofire_total")[0][0])

    def held(self, now: datetime, limit: int) -> list[HeldLock]:
        return [HeldLock(*row) for row in self._source.read("kumofire_held", now=write_time(now), limit=limit)]

    def jobs(self) -> Iterator[Page[KumofireJob]]:
        return self._pages("kumofire_jobs", KumofireJob)

    def schedules(self) -> Iterator[Page[KumofireSchedule]]:
        if self.version < WITH_SCHEDULES:
            return iter(())
        query = "kumofire_schedules" if self.version >= WITH_KEYS else "kumofire_schedules_without_keys"
        return self._pages(query, KumofireSchedule)

    def runs(self) -> Iterator[Page[KumofireRun]]:
        query = "kumofire_runs" if self.version >= WITH_SCHEDULES else "kumofire_runs_without_schedules"
        return self._pages(query, KumofireRun)

    def _pages(self, query: str, kind: type[T]) -> Iterator[Page[T]]:
        after = ""
        while found := self._source.read(query, after=after, limit=PAGE):
            page: Page[T] = Page([], [])
            for row in found:
                try:
                    page.rows.append(msgspec.convert(dict(zip(kind.__struct_fields__, row, strict=True)), kind))
                except msgspec.ValidationError as error:
                    page.bad.append(BadRow(str(row[0]), f"its row cannot be read ({clean_text(str(error), 200)})"))
            yield page
            after = found[-1][0]


def write_time(at: datetime) -> str:
    """A time as Kumofire writes it: ISO 8601 in UTC to the millisecond. It compares them as texts."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

"""The import: Kumofire's tables into a store, page by page. Repeating it doubles nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

from workbell.errors import StoreError
from workbell.model.schedule import Schedule
from workbell.stores.kumofire.mapping import (
    FOREVER,
    CannotTake,
    Into,
    TakenJob,
    TakenRun,
    TakenSchedule,
    take_job,
    take_run,
    take_schedule,
)
from workbell.stores.kumofire.tables import KumofireRun, KumofireTables, Page
from workbell.stores.port import Store
from workbell.stores.store_page import StorePage

JOBS, SCHEDULES, WAITING, FINISHED, KEYS = "jobs", "schedules", "waiting runs", "finished runs", "keys"
KINDS = (JOBS, SCHEDULES, WAITING, FINISHED, KEYS)
MOST_NAMED = 5  # runs that a refusal names
FINAL = ("succeeded", "failed", "canceled")

Taken = TypeVar("Taken", TakenJob, TakenSchedule, TakenRun)


class Remark(NamedTuple):
    """What is to be said about one row: why it was left out, or how it differs."""

    kind: str
    id: str
    text: str


class ImportReport:
    """Counts by kind, rows that were left out with the reason, and notes about others."""

    def __init__(self) -> None:
        self.found: Counter[str] = Counter()
        self.imported: Counter[str] = Counter()
        self.there: Counter[str] = Counter()
        self.skipped: list[Remark] = []
        self.notes: list[Remark] = []

    def skip(self, kind: str, row_id: str, reason: str) -> None:
        self.skipped.append(Remark(kind, row_id, reason))

    def skips(self, kind: str) -> int:
        return sum(one.kind == kind for one in self.skipped)

    @property
    def lost(self) -> list[Remark]:
        """What would still have done something, and will not."""
        return [one for one in self.skipped if one.kind != FINISHED]

    def as_dict(self) -> dict[str, Any]:
        counts = {name: {kind: getattr(self, name)[kind] for kind in KINDS} for name in ("found", "imported", "there")}
        remarks = {name: [one._asdict() for one in getattr(self, name)] for name in ("skipped", "notes")}
        return {"complete": not self.lost, **counts, **remarks}


def check_idle(tables: KumofireTables, now: datetime) -> None:
    """Raise StoreError if a consumer of Kumofire works on a run: it would be worked on twice."""
    held = tables.held(now, MOST_NAMED + 1)
    if not held:
        return
    named = "; ".join(f"{one.run_id} of {one.job}, locked until {one.until}" for one in held[:MOST_NAMED])
    more = " and more" if len(held) > MOST_NAMED else ""
    raise StoreError(
        f"Kumofire is working on runs ({named}{more}); stop its consumers first, and wait until these locks have "
        "ended. Nothing was imported."
    )


def import_tables(
    tables: KumofireTables, target: Store | None, into: Into, *, dry: bool, advance: Callable[[int], None]
) -> ImportReport:
    """Take over everything that can be; `target` is none only if there is nothing to look at before a dry run.

    Schedules come last: nothing ticks before the runs of earlier ticks are there.
    """
    report = ImportReport()
    work = _Import(target, into, report, dry=dry)
    try:
        for jobs in tables.jobs():
            work.jobs(_taken(jobs, JOBS, take_job, into, report))
        for runs in tables.runs():
            work.runs(_taken(runs, _kind_of_run, take_run, into, report))
            advance(len(runs.rows) + len(runs.bad))
        for schedules in tables.schedules():
            work.schedules(_taken(schedules, SCHEDULES, take_schedule, into, report))
    except StoreError as error:
        done = ", ".join(f"{report.imported[kind]:,} {kind}" for kind in KINDS if report.imported[kind])
        if dry or not done:
            raise
        said = str(error).rstrip(".")
        raise type(error)(f"{said}. Until then {done} were imported; repeat it, nothing is doubled.") from error
    if target is not None and not dry:
        target.wake()  # workers may wait for a hint
    return report


class _Import:
    """Writes what was taken, and counts it."""

    def __init__(self, target: Store | None, into: Into, report: ImportReport, *, dry: bool) -> None:
        self._target = target
        self._into = into
        self._report = report
        self._dry = dry
        self._jobs = {job.name for job in target.jobs.list(into.tenant)} if target is not None else set()
        self._keys: dict[str, str] = {}  # and the run that holds it

    def jobs(self, taken: Sequence[TakenJob]) -> None:
        """All, also those that are there and stay: with them goes the version number that workers read."""
        new = sum(one.job.name not in self._jobs for one in taken)
        self._report.there[JOBS] += len(taken) - new
        self._load(StorePage(jobs=[one.job for one in taken]))
        self._report.imported[JOBS] += new

    def schedules(self, taken: Sequence[TakenSchedule]) -> None:
        names = [one.schedule.name for one in taken]
        known = self._target.schedules.find(self._into.tenant, names) if self._target is not None else {}
        new: list[Schedule] = []
        for schedule, _ in taken:
            there = known.get(schedule.name)
            if there is None:
                new.append(schedule)
            elif there.id == schedule.id:
                self._report.there[SCHEDULES] += 1
            else:
                self._report.skip(SCHEDULES, schedule.name, "the store has another schedule of this name")
        self._load(StorePage(schedules=new))
        self._report.imported[SCHEDULES] += len(new)

    def runs(self, taken: Sequence[TakenRun]) -> None:
        """Runs that the store does not know; of all, keys and attempts: on D1 a page is written in several parts."""
        report = self._report
        known = set() if self._target is None else self._target.runs.find(one.run.id for one in taken).keys()
        new = [one for one in taken if one.run.id not in known]
        keys = [(self._into.tenant, one.key, one.run.id, FOREVER) for one in taken if one.key and self._holds(one)]
        self._load(
            StorePage(
                lanes=list({one.run.lane.id: one.run.lane for one in new}.values()),
                runs=[one.run for one in new],
                attempts=[one.lost for one in taken if one.lost is not None],
                keys=keys,
            )
        )
        for one in taken:
            counted = report.there if one.run.id in known else report.imported
            counted[FINISHED if one.run.status.final else WAITING] += 1
            if one.key:
                report.found[KEYS] += 1
                report.there[KEYS] += one.run.id in known
        report.imported[KEYS] += sum(run not in known for _, _, run, _ in keys)

    def _holds(self, one: TakenRun) -> bool:
        """Whether a run gets its key: of two with one, which its index does not allow, the first that is read."""
        holder = self._keys.setdefault(one.key or "", one.run.id)
        if holder != one.run.id:
            self._report.skip(KEYS, one.run.id, f"its key {one.key} is that of the run {holder}")
        return holder == one.run.id

    def _load(self, page: StorePage) -> None:
        if any(page) and not self._dry and self._target is not None:
            self._target.load(page)


def _kind_of_run(row: KumofireRun) -> str:
    return FINISHED if row.status in FINAL else WAITING


def _taken(
    page: Page[Any],
    kind: str | Callable[[Any], str],
    take: Callable[[Any, Into], Taken],
    into: Into,
    report: ImportReport,
) -> list[Taken]:
    found: list[Taken] = []
    for row_id, reason in page.bad:
        bad = kind if isinstance(kind, str) else WAITING
        report.found[bad] += 1
        report.skip(bad, row_id, reason)
    for row in page.rows:
        named = kind if isinstance(kind, str) else kind(row)
        report.found[named] += 1
        try:
            one = take(row, into)
        except CannotTake as error:
            report.skip(named, getattr(row, "name", row.id), str(error).rstrip("."))
            continue
        report.notes += [Remark(named, getattr(row, "name", row.id), note) for note in one.notes]
        found.append(one)
    return found

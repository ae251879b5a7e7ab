"""What `workbell doctor` finds out about a store."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from workbell.cli.agent_findings import agent_findings
from workbell.cli.event_findings import event_findings
from workbell.cli.output import span
from workbell.cli.project import missing_file, opened
from workbell.cli.schema import look
from workbell.cli.worker_findings import unserved_findings, worker_findings
from workbell.errors import StoreError
from workbell.stores.migrate import NEWEST
from workbell.stores.port import Counts, Store

CLOCK_NOTE = timedelta(seconds=1)
OVERDUE = timedelta(seconds=30)
MOST = 1000


class Finding(NamedTuple):
    level: str  # ok, note or risk
    what: str
    text: str


class Report(NamedTuple):
    findings: list[Finding]
    numbers: dict[str, Any]
    error: StoreError | None = None  # what kept us from looking further

    @property
    def healthy(self) -> bool:
        return self.error is None and all(finding.level != "risk" for finding in self.findings)


def examine(url: str) -> Report:
    """Everything that can be said about the store of this URL."""
    absent = missing_file(url)
    if absent is not None and absent.parent.is_dir():
        return Report([Finding("note", "store", f"{absent} is not there yet; it is made on the first use.")], {})
    findings: list[Finding] = []
    numbers: dict[str, Any] = {}
    try:
        with opened(url) as store:
            for finding in _look(store, numbers):
                findings.append(finding)
    except StoreError as error:
        findings.append(Finding("risk", "store", str(error)))
        return Report(findings, numbers, error)
    return Report(findings, numbers)


def _look(store: Store, numbers: dict[str, Any]) -> Iterator[Finding]:
    tables = look(store)
    for level, what, text in store.describe():
        yield Finding(level, what, text)
    if tables is None:
        yield Finding("note", "schema", "there are no tables yet; they are made on the first use.")
        return
    numbers["schema_version"] = tables.version
    store.check()
    version = f"version {tables.version}"
    if tables.version < NEWEST:
        yield Finding("note", "schema", f"{version}; `workbell migrate` brings it to {NEWEST}.")
    else:
        yield Finding("ok", "schema", version)
    store.measure_time()
    apart = store.clock.now() - datetime.now(UTC)
    numbers["clock_difference_ms"] = round(apart / timedelta(milliseconds=1), 1)
    if abs(apart) > CLOCK_NOTE:
        way = "ahead of" if apart > timedelta(0) else "behind"
        text = f"the store is {span(abs(apart))} {way} this machine; runs follow the store's time."
        yield Finding("note", "clock", text)
    else:
        yield Finding("ok", "clock", f"{span(abs(apart))} between the store and this machine")
    yield from _runs(store, numbers)
    yield from _schedules(store)
    yield from (Finding(*told) for told in event_findings(store))


def _schedules(store: Store) -> Iterator[Finding]:
    """Whether somebody looks after the schedules."""
    now, look_at = store.clock.now(), store.next_look()
    if look_at is not None and now - look_at > OVERDUE:
        late = (
            f"a schedule has been due for {span(now - look_at)}, and no scheduler looks; start one (`workbell start`)."
        )
        yield Finding("risk", "schedules", late)
    else:
        upcoming = "none is waiting" if look_at is None else f"the next look is {_when(look_at - now)}"
        yield Finding("ok", "schedules", upcoming)


def _when(left: timedelta) -> str:
    return f"in {span(left)}" if left > timedelta(0) else "now"


def _runs(store: Store, numbers: dict[str, Any]) -> Iterator[Finding]:
    lanes = store.counts()
    totals = {name: sum(getattr(lane, name) for lane in lanes) for name in ("scheduled", "queued", "running")}
    numbers["counts"] = totals
    numbers["lanes"] = [
        {
            "tenant": lane.lane.tenant,
            "queue": lane.lane.queue,
            "job": lane.lane.job,
            "target": lane.lane.target,
            "key": lane.lane.key,
            "scheduled": lane.scheduled,
            "queued": lane.queued,
            "running": lane.running,
            "paused": lane.paused,
        }
        for lane in lanes
    ]
    yield Finding("ok", "live runs", ", ".join(f"{count:,} {name}" for name, count in totals.items()))
    yield from _pauses(store, lanes)
    workers = store.list_workers()
    yield from (Finding(*told) for told in unserved_findings(store, workers, lanes))
    yield from (Finding(*told) for told in worker_findings(store, workers, numbers))
    yield from (Finding(*told) for told in agent_findings(store, lanes, numbers))
    now = store.clock.now()
    due = store.next_due()
    if due is not None and now - due > OVERDUE:
        yield Finding("note", "dispatch", f"a run has been due for {span(now - due)}: is a worker running?")
    lapsed = [run for run in store.lapsed(now, MOST) if run.lease_until is not None]
    if lapsed:
        text = f"{len(lapsed):,} runs have lost their worker; the next sweep of any worker takes them up again."
        yield Finding("note", "leases", text)


def _pauses(store: Store, lanes: list[Counts]) -> Iterator[Finding]:
    """What waits because it is paused."""
    for pause in store.list_pauses():
        queued = sum(counts.queued for counts in lanes if pause.covers(counts.lane))
        if queued:
            whose = f", tenant {pause.tenant}" if pause.tenant != "default" else ""
            since = f"paused for {span(store.clock.now() - pause.since)}"
            text = f"{pause}{whose}: {queued:,} queued runs wait, {since}; `{pause.remedy}` lets them go on."
            yield Finding("note", "paused", text)

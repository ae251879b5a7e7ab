"""Store checks of the doctor. Each reads for itself, so that a slow one delays no other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from workbell.doctor.agents import agent_findings
from workbell.doctor.events import event_findings
from workbell.doctor.finding import Finding, with_remedy
from workbell.doctor.locks import check_locks
from workbell.doctor.modes import check_modes
from workbell.doctor.spans import span
from workbell.doctor.tables import tables_of
from workbell.doctor.workers import definition_findings, rewind_findings, unserved_findings, worker_findings
from workbell.model.job import TENANT
from workbell.model.schedule import Schedule
from workbell.stores.migrate import NEWEST
from workbell.stores.port import Counts, Store
from workbell.stores.sql_store import SqlStore

CLOCK_NOTE = timedelta(seconds=1)
OVERDUE = timedelta(seconds=30)
BROKEN = 20  # schedules that are listed one by one

Numbers = dict[str, Any]  # what was counted on the way, for other programs
Check = Callable[[Store, Numbers], Iterator[Finding]]


def run_checks(store: Store, numbers: Numbers) -> Iterator[Finding]:
    """Run the checks in order; a store without tables ends them."""
    for check in CHECKS.values():
        yield from check(store, numbers)
        if check is check_schema and "schema_version" not in numbers:
            return


def check_store(store: Store, _numbers: Numbers) -> Iterator[Finding]:
    for level, what, text in store.describe():
        yield Finding(level, what, text)


def check_schema(store: Store, numbers: Numbers) -> Iterator[Finding]:
    if not isinstance(store, SqlStore):
        return
    tables = tables_of(store)
    if tables is None:
        yield Finding("note", "schema", "there are no tables yet; they are made on the first use.")
        return
    numbers["schema_version"] = tables.version
    store.check()
    version = f"version {tables.version}"
    if tables.version < NEWEST:
        yield with_remedy("note", "schema", f"{version}; `workbell migrate` brings it to {NEWEST}.")
    else:
        yield Finding("ok", "schema", version)


def check_clock(store: Store, numbers: Numbers) -> Iterator[Finding]:
    store.measure_time()
    apart = store.clock.now() - datetime.now(UTC)
    numbers["clock_difference_ms"] = round(apart / timedelta(milliseconds=1), 1)
    if abs(apart) > CLOCK_NOTE:
        way = "ahead of" if apart > timedelta(0) else "behind"
        text = f"the store is {span(abs(apart))} {way} this machine; runs follow the store's time."
        yield Finding("note", "clock", text)
    else:
        yield Finding("ok", "clock", f"{span(abs(apart))} between the store and this machine")


def check_live_runs(store: Store, numbers: Numbers) -> Iterator[Finding]:
    """Waiting runs, and those that wait for a worker or agent that will not come."""
    lanes = store.reports.counts()
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
    least = "at least " if any(lane.capped for lane in lanes) else ""
    yield Finding("ok", "live runs", least + ", ".join(f"{count:,} {name}" for name, count in totals.items()))
    yield from _pauses(store, lanes)
    yield from unserved_findings(store, store.workers.list(), lanes)
    yield from agent_findings(store, lanes, numbers)


def _pauses(store: Store, lanes: list[Counts]) -> Iterator[Finding]:
    """Runs that wait because they are paused."""
    for pause in store.pauses.list():
        held = [counts for counts in lanes if pause.covers(counts.lane)]
        queued = sum(counts.queued for counts in held)
        least = "at least " if any("queued" in counts.capped for counts in held) else ""
        if queued:
            whose = f", tenant {pause.tenant}" if pause.tenant != "default" else ""
            since = f"paused for {span(store.clock.now() - pause.since)}"
            wait = "1 queued run waits" if queued == 1 else f"{least}{queued:,} queued runs wait"
            text = f"{pause}{whose}: {wait}, {since}; `{pause.remedy}` lets them go on."
            yield with_remedy("note", "paused", text)


def check_workers(store: Store, numbers: Numbers) -> Iterator[Finding]:
    workers = store.workers.list()
    yield from worker_findings(store, workers, numbers)
    yield from definition_findings(store, workers)


def check_leases(store: Store, _numbers: Numbers) -> Iterator[Finding]:
    """Whether a scheduler serves due runs, and runs whose worker was lost."""
    now = store.clock.now()
    due = store.runs.next_due()
    if due is not None and now - due > OVERDUE:
        yield Finding("note", "dispatch", f"a run has been due for {span(now - due)}: is a worker running?")
    lapsed = store.runs.leases(now)
    if lapsed:
        text = f"{len(lapsed):,} runs have lost their worker; the next sweep of any worker takes them up again."
        yield Finding("note", "leases", text)


def check_schedules(store: Store, _numbers: Numbers) -> Iterator[Finding]:
    """Whether a scheduler serves the schedules, and which of them are broken."""
    now, due_at = store.clock.now(), store.schedules.next_check()
    broken = store.reports.broken(BROKEN + 1)
    if due_at is not None and now - due_at > OVERDUE:
        late = f"a schedule has been due for {span(now - due_at)}, and no scheduler takes it; run `workbell start`."
        yield with_remedy("risk", "schedules", late)
    elif not broken:
        upcoming = "none is waiting" if due_at is None else f"the next is due {_when(due_at - now)}"
        yield Finding("ok", "schedules", upcoming)

    for schedule in broken[:BROKEN]:
        yield _broken(schedule)
    if len(broken) > BROKEN:
        yield Finding("risk", "schedules", "and there are more that are broken.")


def _broken(schedule: Schedule) -> Finding:
    whose = f" of tenant {schedule.tenant}" if schedule.tenant != TENANT else ""
    why = " ".join((schedule.last_error or "no error was recorded").split())[:300].rstrip(".")
    text = f"{schedule.name}{whose} is broken and makes no runs: {why}"
    remedy = f"put it again with what is right, or pause it (`workbell schedules show {schedule.name}`)."
    return Finding("risk", "schedules", text, remedy)


def check_rows(store: Store, numbers: Numbers) -> Iterator[Finding]:
    """Whether rows of the store cannot be read; of runs, the first that are live."""
    if not isinstance(store, SqlStore):
        return
    found: list[tuple[str, str, Any]] = [
        *(("job", job.name, job) for page in store.jobs.export() for job in page),
        *(("trigger", trigger.name, trigger) for trigger in store.subscribers.list_triggers()),
        *(("endpoint", endpoint.id, endpoint) for endpoint in store.subscribers.list_endpoints()),
        *(("agent", agent.name, agent) for agent in store.agents.list()),
        *(("token", token.id, token) for page in store.tokens.export() for token in page),
        *(("tenant", tenant.name, tenant) for tenant in store.tenants.list()),
        *(("worker", worker.id, worker) for worker in store.workers.list()),
        *(("run", run.id, run) for run in store.reports.unreadable_runs()),
    ]
    unreadable = [(kind, name, str(one.unreadable)) for kind, name, one in found if one.unreadable is not None]
    numbers["unreadable_rows"] = len(unreadable)
    for kind, name, sentence in unreadable[:BROKEN]:
        what, _, remedy = sentence.rpartition("; ")
        yield Finding("risk", "rows", f"{kind} {name}: {what}", remedy)
    if len(unreadable) > BROKEN:
        yield Finding("risk", "rows", "and there are more that cannot be read.")


def _when(left: timedelta) -> str:
    return f"in {span(left)}" if left > timedelta(0) else "now"


def check_events(store: Store, _numbers: Numbers) -> Iterator[Finding]:
    yield from event_findings(store)


def check_rewinds(store: Store, numbers: Numbers) -> Iterator[Finding]:
    yield from rewind_findings(store, numbers)


CHECKS: Mapping[str, Check] = {
    "store": check_store,
    "modes": check_modes,
    "locks": check_locks,  # before all that reads tables: one may be locked as a whole
    "schema": check_schema,
    "clock": check_clock,
    "live runs": check_live_runs,
    "workers": check_workers,
    "leases": check_leases,
    "rewinds": check_rewinds,
    "schedules": check_schedules,
    "rows": check_rows,
    "events": check_events,
}

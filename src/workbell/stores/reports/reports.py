"""Reports about runs and schedules, for people; no promise depends on them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC
from typing import Any

from workbell.model.ended_run import EndedRun
from workbell.model.ids import FIRST_ID
from workbell.model.pause import any_covers
from workbell.model.retry_run import RetryRun
from workbell.model.run import FINAL, Lane, Run, Status
from workbell.model.run_page import Counted
from workbell.model.schedule import Schedule
from workbell.stores.database import Database, Row, Rows, Statement, read_rows
from workbell.stores.pauses.pauses import StoredPauses
from workbell.stores.port import MOST_COUNTED, SCAN, Counts, Filter, FoundRuns, LaneLoad
from workbell.stores.reports.recent import recent_runs
from workbell.stores.reports.search import Search
from workbell.stores.rows import schedule_from
from workbell.stores.runs.lanes import Lanes
from workbell.stores.times import to_utc

PAGE = 1000
LOOKED_AT = 10_000  # live runs
QUEUED = 100_000  # queued runs of a lane that are counted: an operator must see whether a backlog grows
SCHEDULED = 100_000  # scheduled runs that are counted: they have no index by lane
MOST_RETRIES = 1000  # live ones of one run


class StoredReports:
    """Searches, counts, and the runs and schedules that dashboards show."""

    def __init__(self, database: Database, lanes: Lanes, pauses: StoredPauses) -> None:
        self._database = database
        self._lanes = lanes
        self._pauses = pauses
        self._search = Search(database, lanes)

    def search(self, wanted: Filter, scan: int = SCAN) -> FoundRuns:
        """Runs by all words of a filter; of those that no index leads to, no more than `scan` are read."""
        return self._search.search(wanted, scan)

    def count(self, wanted: Filter, most: int = MOST_COUNTED, scan: int = SCAN) -> Counted:
        """How many runs a search finds, counted up to `most`."""
        return self._search.count(wanted, most, scan)

    def recent(self, tenant: str, jobs: Sequence[str], most: int) -> dict[str, list[EndedRun]]:
        """The newest finished runs of each of these jobs, newest first by when they were made, without inputs."""
        return recent_runs(self._database, tenant, jobs, most)

    def counts(self, tenant: str | None = None) -> list[Counts]:
        """Live runs of a tenant or of all, by lane and status, and which lanes are paused.

        Counts up to 100,000 queued runs of a lane, and the next 100,000 scheduled runs of all tenants.
        """
        is_paused = any_covers(self._pauses.list(tenant))
        query = "queued_lanes" if tenant is None else "queued_lanes_of_tenant"
        more = {} if tenant is None else {"tenant": tenant}
        queued = {
            lane: (count, since) for lane, count, since in self._lanes_in_pages(query, most=QUEUED, **more) if count
        }
        whose = {"tenant": tenant}
        seen = {"scan": SCHEDULED}
        answers = self._database.read(
            [
                Statement("running_by_lane", whose),
                Statement("scheduled_by_lane", whose | seen),
                Statement("many_scheduled", seen),
            ]
        )
        running, scheduled = [{row[0]: row[1] for row in rows} for rows in answers[:2]]
        later = ("scheduled",) if answers[2] else ()
        ids = {*queued, *running, *scheduled}
        lanes = self._lanes.find(ids)
        disabled = self._disabled(lanes.values())
        found = []
        for lane in ids:
            count, since = queued.get(lane, (0, None))
            counts = Counts(
                lanes[lane],
                scheduled.get(lane, 0),
                count,
                running.get(lane, 0),
                is_paused(lanes[lane]),
                None if since is None else to_utc(since),
                ("queued", *later) if count >= QUEUED else later,
                (lanes[lane].tenant, lanes[lane].job) in disabled,
            )
            found.append(counts)
        return found

    def load(self, tenant: str, queues: Sequence[str] | None, most: int) -> list[LaneLoad]:
        """Counts of queued and running runs by lane, of these queues or of all, up to `most`; not those of agents."""
        wanted = {"tenant": tenant, "every": queues is None, "queues": list(queues or ()), "most": most}
        rows = [row for row in self._lanes_in_pages("load_of_lanes", **wanted) if row[1] or row[2]]
        lanes = self._lanes.find([row[0] for row in rows])
        is_paused = any_covers(self._pauses.list(tenant) if rows else ())
        disabled = self._disabled(lanes.values())
        return [
            LaneLoad(
                lanes[lane],
                queued,
                running,
                None if due is None else to_utc(due),
                (lanes[lane].tenant, lanes[lane].job) in disabled or is_paused(lanes[lane]),
            )
            for lane, queued, running, due in rows
        ]

    def _lanes_in_pages(self, query: str, **values: Any) -> Iterator[Row]:
        """The rows of a query that answers a page of lanes by their ids."""
        after = -1
        while page := read_rows(self._database, query, after=after, limit=PAGE, **values):
            yield from page
            if len(page) < PAGE:
                return
            after = page[-1][0]

    def _disabled(self, lanes: Iterable[Lane]) -> set[tuple[str, str]]:
        """Tenants and names of the definitions that are disabled, of the tenants of these lanes."""
        tenants = sorted({lane.tenant for lane in lanes})
        found = read_rows(self._database, "disabled_definitions", tenants=tenants) if tenants else []
        return {(tenant, name) for tenant, name in found}

    def ahead_of(self, run: Run) -> int:
        """How many queued runs of the same lane come before this one (counted up to 1,000)."""
        values = {"lane": run.lane.id, "rank": run.rank, "scheduled_for": run.scheduled_for, "id": run.id}
        return int(read_rows(self._database, "ahead_of", **values)[0][0])

    def running_beside(self, run: Run) -> int:
        """Number of running runs in the lane of this one."""
        return int(read_rows(self._database, "running_in_lane", lane=run.lane.id)[0][0])

    def retries(self, ids: Iterable[str]) -> dict[str, RetryRun]:
        """The newest retry of each of these runs, if it has one that still exists."""
        rows = Rows(("id",), [[one] for one in sorted(set(ids))])
        if not rows.values:
            return {}
        wanted: dict[str, Any] = {"rows": rows, "most": MOST_RETRIES}
        # Live runs are read first: one that ends between the two statements is then found in history.
        live, finished = self._database.read([Statement("live_retries", wanted), Statement("finished_retries", wanted)])
        return {
            row[0]: RetryRun(row[1], Status(row[2]), row[3].astimezone(UTC), row[4])
            for row in sorted([*live, *finished], key=lambda row: (row[1], row[2] in FINAL))
        }

    def upcoming(self, tenant: str, limit: int) -> list[Schedule]:
        """Schedules that are neither switched off nor paused, by when their next run is due."""
        found = read_rows(self._database, "upcoming_schedules", tenant=tenant, limit=limit)
        return [schedule_from(row) for row in found]

    def broken(self, limit: int) -> list[Schedule]:
        """Schedules of all tenants that cannot be read, or that the scheduler failed with at its last check."""
        found: list[Schedule] = []
        after = FIRST_ID
        while rows := read_rows(self._database, "active_schedules", after=after, limit=PAGE):
            page = [schedule_from(row) for row in rows]
            found += (schedule for schedule in page if schedule.broken)
            after = page[-1].id
        return sorted(found, key=lambda schedule: (schedule.tenant, schedule.name))[:limit]

    def unreadable_runs(self) -> list[Run]:
        """Live runs of all tenants that cannot be read as they are stored, among the first 10,000 by age."""
        found: list[Run] = []
        after = FIRST_ID
        for _ in range(LOOKED_AT // PAGE):
            page = self._lanes.make_runs(read_rows(self._database, "export_runs", after=after, limit=PAGE))
            found += (run for run in page if run.unreadable is not None)
            if len(page) < PAGE:
                break
            after = page[-1].id
        return found

    def waiting_targets(self, among: Iterable[tuple[str, str]]) -> set[tuple[str, str]]:
        """Those of these tenants and targets for which something is queued."""
        wanted = Rows(("tenant", "target"), [list(pair) for pair in sorted(set(among))])
        if not wanted.values:
            return set()
        return {(row[0], row[1]) for row in read_rows(self._database, "waiting_targets", rows=wanted)}

"""Recent runs: the last finished runs of jobs, in a time that does not grow with history.

A job has a lane for each of its queues, targets and keys, and an index leads to the newest runs of a lane. So the
newest run of each lane shows which lanes can have any of the wanted runs, and only these lanes are read. Of a job with
more than a thousand lanes some are looked at, and those that the newest history is in.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC

from workbell.model.ended_run import EndedRun
from workbell.model.run import Status
from workbell.stores.database import Database, Row, Rows, read_rows

MOST_LANES = 1000  # of one job
NEWEST = 5000  # finished runs of all jobs and tenants, among which a job with more lanes is looked for
OLDEST = "00000000-0000-0000-0000-000000000000"

Wanted = tuple[int, str]  # a lane, and the oldest id that can be wanted of it


def recent_runs(database: Database, tenant: str, jobs: Sequence[str], most: int) -> dict[str, list[EndedRun]]:
    """The newest finished runs of each job, `most` of each at the most."""
    if not jobs:
        return {}
    lanes: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for job, lane, newest in _newest_by_lane(database, tenant, jobs):
        lanes[job].append((newest, lane))
    wanted = [pair for found in lanes.values() for pair in _candidates(found, most)]
    job_of = {lane: job for job, found in lanes.items() for _, lane in found}
    ids: dict[str, list[str]] = {job: [] for job in jobs}
    for lane, run_id in _newest_of_lanes(database, wanted, most):
        ids[job_of[lane]].append(run_id)
    newest_first = {job: sorted(found, reverse=True)[:most] for job, found in ids.items()}
    every = [run_id for found in newest_first.values() for run_id in found]
    rows = {row[0]: row for row in read_rows(database, "ended_runs", ids=every)} if every else {}
    # One that was removed since is not there any more.
    return {job: [_ended(rows[one]) for one in found if one in rows] for job, found in newest_first.items()}


def _newest_by_lane(database: Database, tenant: str, jobs: Sequence[str]) -> Iterator[tuple[str, int, str]]:
    """Lanes of these jobs that have finished runs, each with the newest."""
    wanted = Rows(("job",), [[job] for job in jobs])
    found = read_rows(database, "lanes_of_jobs", tenant=tenant, rows=wanted, most=MOST_LANES)
    counted = Counter(job for job, _, _ in found)
    more = [job for job, count in counted.items() if count >= MOST_LANES]
    if more:  # then any of its lanes were found: those that it uses now are in the newest history
        found += read_rows(database, "lanes_of_newest", tenant=tenant, jobs=more, scan=NEWEST)
    newest: dict[tuple[str, int], str] = {}
    for job, lane, run_id in found:
        if run_id is not None:
            newest[job, lane] = max(run_id, newest.get((job, lane), OLDEST))
    for (job, lane), run_id in newest.items():
        yield job, lane, run_id


def _candidates(lanes: list[tuple[str, int]], most: int) -> list[Wanted]:
    """Lanes that can have some of the newest runs: runs of other lanes are older than the newest of each of these."""
    lanes = sorted(lanes, reverse=True)[:most]
    oldest = lanes[-1][0] if len(lanes) == most else OLDEST
    return [(lane, oldest) for _, lane in lanes]


def _newest_of_lanes(database: Database, wanted: Sequence[Wanted], limit: int) -> list[Row]:
    """Lanes and the ids of their newest finished runs, `limit` of each at the most."""
    if not wanted:
        return []
    return read_rows(database, "recent_of_lanes", rows=Rows(("lane", "oldest"), wanted), limit=limit)


def _ended(row: Row) -> EndedRun:
    run_id, status, attempt, started_at, finished_at = row
    started = None if started_at is None else started_at.astimezone(UTC)
    return EndedRun(run_id, Status(status), attempt, started, finished_at.astimezone(UTC))

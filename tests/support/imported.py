"""What an import of `tests.support.kumofire` brings into a store, from a file and through a bridge."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.support import kumofire
from tests.support.kumofire import run_id
from workbell import Workbell
from workbell.model.run import AttemptStatus, Status

# Number: status, attempt, failures, losses, error.
RUNS: dict[int, tuple[str, int, int, int, str | None]] = {
    1: ("scheduled", 0, 0, 0, None),
    2: ("scheduled", 1, 1, 0, "smtp: timeout"),
    3: ("queued", 0, 0, 0, None),
    4: ("queued", 2, 1, 1, "first"),
    5: ("succeeded", 1, 0, 0, None),
    6: ("failed", 3, 3, 0, "no such address"),
    7: ("canceled", 0, 0, 0, None),
    8: ("queued", 0, 0, 0, None),
    9: ("queued", 1, 0, 1, None),
}
INPUTS: dict[int, dict[str, Any]] = {8: {"payload": [1, 2]}, 9: {}}
DUE = (2, 3, 4, 8, 9)  # those that wait, and whose time has come


def assert_imported(bell: Workbell, now: datetime) -> None:
    """Ids, statuses, errors, numbers, times and deduplication, as they were."""
    found = {number: bell.get(run_id(number)) for number in RUNS}
    told = {
        number: (run.status.value, run.attempt, run.failures, run.losses, run.error) for number, run in found.items()
    }
    assert told == RUNS
    for number, run in found.items():
        assert run.input == INPUTS.get(number, {"to": f"n{number}"})
        assert run.created_at == kumofire.CREATED
    assert found[1].scheduled_for == _to_millisecond(now + timedelta(hours=2))
    assert found[2].retry.attempts == 4
    assert (found[5].started_at, found[5].finished_at) == (kumofire.CREATED, kumofire.CREATED + timedelta(seconds=4))
    assert found[5].schedule == kumofire.EVERY
    assert found[6].remove_at is not None, "it must not be cleaned away at once"
    assert found[6].remove_at > now + timedelta(days=29)
    (lost,) = bell.attempts(run_id(4))
    assert (lost.number, lost.status) == (2, AttemptStatus.LOST)
    assert lost.finished_at == _to_millisecond(now - timedelta(minutes=9))
    _assert_keys(bell)


def _to_millisecond(at: datetime) -> datetime:
    return at.replace(microsecond=at.microsecond // 1000 * 1000)


def _assert_keys(bell: Workbell) -> None:
    """A key is of all jobs together, and holds for ever."""
    for number, key in ((3, "welcome-3"), (5, "welcome-5")):
        for job in ("mail", "report"):
            assert bell.enqueue(job, {"to": "x"}, key=key, key_scope="tenant").id == run_id(number)
    bell.store.prune(datetime.now(UTC) + timedelta(days=4000), 1000)
    assert bell.get(run_id(5)).status is Status.SUCCEEDED, "its key is still held"


def work_off(bell: Workbell, now: datetime, schedule: str = "every-minute") -> None:
    """An engine works off what waits, and the schedule ticks on, with the tick that it was waiting for."""
    ticked = asyncio.Event()
    done: dict[str, Any] = {}

    @bell.job
    def mail(to: str) -> str:
        return to

    @bell.job
    def report(payload: list[int] | None = None) -> int:
        return sum(payload or [])

    async def engine() -> None:
        async with bell.running():
            for number in DUE:
                done[run_id(number)] = await bell.await_(run_id(number), timeout=60)
            async with asyncio.timeout(60):
                while not bell.schedules.ticks(schedule):
                    await asyncio.sleep(0.05)
            ticked.set()

    asyncio.run(engine())
    assert {run.status for run in done.values()} == {Status.SUCCEEDED}
    assert done[run_id(8)].result == 3
    assert (done[run_id(2)].attempt, done[run_id(2)].failures) == (2, 1)
    assert ticked.is_set()
    tick = bell.schedules.ticks(schedule)[-1]
    assert tick.run is not None
    assert tick.due == now.replace(second=0, microsecond=0)
    assert bell.get(tick.run).input == {"to": "cron"}
    assert bell.get(run_id(1)).status is Status.SCHEDULED

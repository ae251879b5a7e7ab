"""Ten thousand schedules due in one minute, and two schedulers at once: as many runs and ticks, and no more (P10)."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from tests.support.checker import check, report, snapshot
from tests.support.scheduling import DECLARED, new_scheduler, told
from workbell import Workbell
from workbell.model.ids import new_id
from workbell.model.schedule import Schedule, ScheduleChange, ScheduleKind
from workbell.scheduling.control import begin
from workbell.stores.port import Store

MANY = 100_000 if os.environ.get("WORKBELL_SOAK") == "1" else 2_000
PAGE = 1000
NEXT = DECLARED + timedelta(seconds=30)


def declared(number: int) -> ScheduleChange:
    made = Schedule(
        id=new_id(),
        name=f"s{number:06}",
        tenant=f"t{number % 7}",
        job="work",
        kind=ScheduleKind.CRON,
        expression="* * * * *",
        timezone="UTC",
        created_at=DECLARED,
        updated_at=DECLARED,
    )
    return begin(made, DECLARED)


@pytest.mark.timeout(600)
def test_all_due_in_the_same_minute(sql_store: Store) -> None:
    bell, _ = told(sql_store)
    for start in range(0, MANY, PAGE):
        written = sql_store.schedules.write([declared(number) for number in range(start, start + PAGE)])
        assert len(written) == PAGE
    both = threading.Barrier(2)

    def scheduler(place: int) -> int:
        """One prepares before the time, the other finds it when it is due."""
        own = new_scheduler(bell)
        if place:
            own.step(NEXT - timedelta(seconds=0.2))
        both.wait(60)
        steps = 0
        while own.step(NEXT + timedelta(seconds=0.1)) == 0:
            steps += 1
        return steps

    with ThreadPoolExecutor(2) as threads:
        assert all(steps > 0 for steps in threads.map(scheduler, range(2)))
    everything_once(bell)


def everything_once(bell: Workbell) -> None:
    violations = check(bell.store, [], settled=False)
    assert not violations, report(violations)
    held = snapshot(bell.store)
    assert len(held.runs) == len(held.ticks) == len(held.schedules) == MANY
    assert {tick.due for tick in held.ticks} == {run.scheduled_for for run in held.runs} == {NEXT}
    assert {tick.schedule for tick in held.ticks} == {schedule.id for schedule in held.schedules}
    assert {tick.run for tick in held.ticks} == {run.id for run in held.runs}
    assert {schedule.version for schedule in held.schedules} == {1}

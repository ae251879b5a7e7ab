"""What a worker takes, and what it knows to hold."""

from __future__ import annotations

import pytest

from tests.support.fresh_store import fresh_store
from workbell import Workbell
from workbell.engine.consume import serves
from workbell.engine.held_runs import HeldRuns
from workbell.engine.work import Work
from workbell.model.clock import ManualClock
from workbell.model.job import BULK, CLEAN
from workbell.model.run import Lane


@pytest.fixture
def bell() -> Workbell:
    """With one job of the code, and one that a tenant has defined."""
    bell = Workbell(store=fresh_store())
    bell.job(name="work")(lambda: None)
    bell.for_tenant("acme").jobs.put("defined", handler="work")
    return bell


@pytest.mark.parametrize(
    ("queues", "lane", "served"),
    [
        (None, Lane("default", "default", "work"), True),
        (None, Lane("acme", "mail", "work", None, "key"), True),
        (None, Lane("default", "default", "work", "box1"), False),
        (None, Lane("default", "default", "work", "label:gpu"), False),
        (None, Lane("default", "default", "unknown"), False),
        (None, Lane("acme", "default", "defined"), True),
        (None, Lane("default", "default", "defined"), False),
        (["mail"], Lane("default", "mail", "work"), True),
        (["mail"], Lane("default", "mail", "work", "box1"), False),
        (["mail"], Lane("default", "default", "work"), False),
        (["mail"], Lane("default", "default", BULK), True),
        ([], Lane("default", "default", "work"), False),
        (None, Lane("default", "system", CLEAN), False),
    ],
)
def test_which_lanes_are_served(bell: Workbell, queues: list[str] | None, lane: Lane, served: bool) -> None:
    assert serves(bell.registry, queues)(lane) is served


def test_a_run_that_came_back_is_another_work(bell: Workbell) -> None:
    """Under a lease of its own: whoever waits for the first work to leave does not wait for the second."""
    held = HeldRuns(ManualClock())
    run, job = bell.enqueue("work"), bell.registry.find("work")
    assert job is not None
    first, second = (Work(run, job, claimed=0.0) for _ in range(2))
    held.add(first)
    assert held.has(first)
    held.add(second)
    assert (held.has(first), held.has(second), first.lost) == (False, True, True)
    held.note_booked([first])
    assert held.has(second)

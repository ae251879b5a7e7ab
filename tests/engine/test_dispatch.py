"""Due runs are queued when their time has come, and the step says when to look again (D4, D5)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.support.bench import Bench
from workbell import Run, Status
from workbell.engine.dispatch import BATCH, Dispatch


@pytest.fixture
def bench() -> Bench:
    bench = Bench()

    @bench.bell.job
    def work() -> None: ...

    return bench


def test_says_when_the_next_one_is_due(bench: Bench) -> None:
    bench.bell.enqueue("work", delay=0.4)
    bench.bell.enqueue("work", delay=3600)
    assert bench.dispatch.step(bench.clock.now()) == pytest.approx(0.4)
    bench.clock.advance(0.4)
    assert bench.dispatch.step(bench.clock.now()) == 0
    assert bench.announced == 1
    assert [run.status for run in bench.bell.runs()] == [Status.SCHEDULED, Status.QUEUED]
    assert bench.dispatch.step(bench.clock.now()) == 1  # the poll interval: something earlier may come


def test_looks_no_more_often_than_is_of_use(bench: Bench) -> None:
    """Hints come by the hundred: each is heeded, but a little later, and no later because of the next one."""
    assert bench.dispatch.step(bench.clock.now()) == 1
    bench.bell.enqueue("work", delay=0.01)
    bench.clock.advance(0.02)
    assert bench.dispatch.step(bench.clock.now()) == pytest.approx(0.98)  # nobody said anything
    bench.dispatch.hint()
    wait = bench.dispatch.step(bench.clock.now())
    assert 0 < wait <= 0.05
    bench.clock.advance(wait / 2)
    bench.dispatch.hint()
    assert bench.dispatch.step(bench.clock.now()) == pytest.approx(wait / 2)
    bench.clock.advance(wait / 2)
    assert bench.dispatch.step(bench.clock.now()) == 0


def test_a_clock_that_is_put_back_does_not_stop_it(bench: Bench) -> None:
    assert bench.dispatch.step(bench.clock.now()) == 1
    before = bench.clock.now() - timedelta(hours=1)
    assert bench.dispatch.step(before) == 1


def test_a_long_line_goes_in_batches(bench: Bench) -> None:
    bench.bell.enqueue_many([bench.bell.request("work", delay=1) for _ in range(BATCH + 1)])
    bench.clock.advance(1)
    look = Dispatch(bench.store, lambda _: None, 1)
    assert [look.step(bench.clock.now()) for _ in range(3)] == [0, 0, 1]
    assert sum(counts.queued for counts in bench.store.reports.counts()) == BATCH + 1


def test_the_runs_that_were_queued_are_announced(bench: Bench) -> None:
    """With their queues: a worker may serve some only."""
    run = bench.bell.enqueue("work", delay=1, queue="mail")
    bench.bell.enqueue("work", delay=2)
    bench.clock.advance(1)
    announced: list[Run] = []
    Dispatch(bench.store, announced.extend, 1).step(bench.clock.now())
    assert [(one.id, one.queue, one.status) for one in announced] == [(run.id, "mail", Status.QUEUED)]


def test_two_dispatchers_queue_once(bench: Bench) -> None:
    bench.bell.enqueue("work", delay=1)
    bench.clock.advance(1)
    now = bench.clock.now()
    assert len(bench.store.runs.dispatch(now, 10)) == 1
    assert len(bench.store.runs.dispatch(now, 10)) == 0


def test_a_round_says_whether_more_may_follow(bench: Bench) -> None:
    bench.bell.enqueue_many([bench.bell.request("work", delay=1) for _ in range(3)])
    bench.clock.advance(1)
    found = [bench.dispatch.queue_due(bench.clock.now(), 2) for _ in range(3)]
    assert found == [(2, True), (1, False), (0, False)]

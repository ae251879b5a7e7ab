"""Tries and their delays: each retry is stored with its own due time (A6, C6)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.support.bench import Bench, waits
from workbell import Cancel, Retry, Snooze, Status


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_delays_grow_to_the_cap_and_end(bench: Bench) -> None:
    @bench.bell.job(retry=Retry(attempts=5, delay=1, factor=2, cap=5, jitter=0))
    def fails() -> None:
        raise ValueError("no")

    run = fails.enqueue()
    seen = []
    for number in range(1, 5):
        (run,) = bench.work()
        assert (run.status, run.failures, run.attempt, run.reason) == (Status.SCHEDULED, number, number, "error")
        assert run.scheduled_for == bench.clock.now() + timedelta(seconds=waits(run))
        seen.append(waits(run))
        bench.clock.advance(waits(run) - 0.001)
        assert bench.work() == []  # not before its time
        bench.clock.advance(0.001)
    assert seen == [1, 2, 4, 5]
    (run,) = bench.work()
    assert (run.status, run.failures, run.attempt) == (Status.FAILED, 5, 5)
    assert run.error is not None
    assert run.error.startswith("ValueError: no\n")
    assert run.remove_at == run.finished_at + bench.keep.other
    assert bench.attempts(run) == [(number, "failed") for number in range(1, 6)]


def test_jitter_only_adds(bench: Bench) -> None:
    @bench.bell.job(retry=Retry(attempts=2, delay=10, jitter=0.5))
    def fails() -> None:
        raise ValueError

    bench.bell.enqueue_many([fails.request() for _ in range(10)])
    spread = [waits(run) for run in bench.work()]
    assert all(10 <= wait <= 15 for wait in spread)
    assert len(set(spread)) > 5


def test_the_run_has_the_first_word(bench: Bench) -> None:
    @bench.bell.job(retry=Retry(attempts=1))
    def fails() -> None:
        raise ValueError

    @bench.bell.job
    def by_default() -> None:
        raise ValueError

    asked = fails.options(retry=Retry(attempts=2, delay=7, jitter=0)).enqueue()
    plain, default = fails.enqueue(), by_default.enqueue()
    bench.work()
    assert waits(bench.run(asked)) == 7
    assert bench.run(plain).status is Status.FAILED
    assert bench.run(default).status is Status.SCHEDULED  # three tries unless told otherwise


class TestErrorRules:
    @pytest.mark.parametrize(
        ("rules", "again"),
        [
            ({"give_up_on": LookupError}, False),
            ({"give_up_on": "KeyError"}, False),
            ({"give_up_on": ValueError}, True),
            ({"only_on": (KeyError, OSError)}, True),
            ({"only_on": OSError}, False),
            ({"only_on": LookupError, "give_up_on": KeyError}, False),
        ],
        ids=str,
    )
    def test_by_class_and_name(self, bench: Bench, rules: dict, again: bool) -> None:
        """A KeyError is a LookupError."""

        @bench.bell.job(retry=Retry(delay=0, **rules))
        def fails() -> None:
            raise KeyError("x")

        fails.enqueue()
        (run,) = bench.work()
        assert run.status is (Status.SCHEDULED if again else Status.FAILED)
        assert run.failures == 1

    def test_each_error_is_judged_by_itself(self, bench: Bench) -> None:
        errors = [OSError("again"), OSError("again"), ValueError("never")]

        @bench.bell.job(retry=Retry(attempts=9, delay=0, give_up_on=ValueError))
        def fails() -> None:
            raise errors.pop(0)

        fails.enqueue()
        for status in (Status.SCHEDULED, Status.SCHEDULED, Status.FAILED):
            (run,) = bench.work()
            assert run.status is status
        assert errors == []


class TestSignals:
    def test_snooze_spends_nothing(self, bench: Bench) -> None:
        answers = [Snooze(60, "not ready"), Snooze(timedelta(minutes=2)), "done"]

        @bench.bell.job(retry=Retry(attempts=1))
        async def patient() -> object:
            return answers.pop(0)

        patient.enqueue()
        (run,) = bench.work()
        assert (run.status, run.failures, waits(run), run.reason) == (Status.SCHEDULED, 0, 60, "not ready")
        bench.clock.advance(59)
        assert bench.work() == []
        bench.clock.advance(1)
        (run,) = bench.work()
        assert (run.failures, waits(run), run.reason) == (0, 120, None)
        bench.clock.advance(120)
        (run,) = bench.work()
        assert (run.status, run.result, run.failures, run.attempt) == (Status.SUCCEEDED, "done", 0, 3)
        assert bench.attempts(run) == [(1, "snoozed"), (2, "snoozed"), (3, "succeeded")]

    @pytest.mark.parametrize("asynchronous", [False, True])
    def test_cancel_ends_the_run(self, bench: Bench, asynchronous: bool) -> None:
        def plain() -> Cancel:
            return Cancel("nothing to do")

        async def awaited() -> Cancel:
            return Cancel("nothing to do")

        bench.bell.job(name="job")(awaited if asynchronous else plain)
        bench.bell.enqueue("job")
        (run,) = bench.work()
        assert (run.status, run.reason, run.failures) == (Status.CANCELED, "nothing to do", 0)
        assert bench.attempts(run) == [(1, "canceled")]

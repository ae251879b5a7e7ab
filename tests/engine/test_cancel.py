"""A cancel of a running run is not forgotten, whatever becomes of its handler and its worker (A7)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.bench import Bench
from workbell import Context, Retry, Run, Snooze, Status
from workbell.engine.outcome import HANDED_BACK
from workbell.engine.work import Work

NEVER = Retry(attempts=5, delay=0, jitter=0)


@pytest.fixture
def bench() -> Bench:
    bench = Bench()

    @bench.bell.job(retry=NEVER)
    def work(then: str) -> object:
        match then:
            case "raise":
                raise ValueError("in the middle")
            case "snooze":
                return Snooze(0)
            case _:
                return then

    return bench


def raises(bench: Bench, work: Work) -> None:
    bench.book(work, bench.call(work))


def is_handed_back(bench: Bench, work: Work) -> None:
    bench.book(work, HANDED_BACK)


def loses_its_worker(bench: Bench, work: Work) -> None:
    Bench(bench.store, name="other").lapse()


def is_a_stray(bench: Bench, work: Work) -> None:
    bench.consume.note_dropped([work])
    bench.consume.step(bench.clock.now())


WAYS: dict[str, tuple[Callable[[Bench, Work], None], str]] = {
    "raises": (raises, "raise"),
    "snoozes": (raises, "snooze"),
    "is handed back": (is_handed_back, ""),
    "loses its worker": (loses_its_worker, ""),
    "was dropped": (is_a_stray, ""),
}


@pytest.mark.parametrize("way", WAYS)
def test_it_ends_and_never_starts_again(bench: Bench, way: str) -> None:
    leave, then = WAYS[way]
    run = bench.bell.enqueue("work", {"then": then})
    (work,) = bench.claim()
    asked = bench.bell.cancel(run.id, "enough")
    assert (asked.status, asked.cancel_requested) == (Status.RUNNING, True)
    leave(bench, work)
    ended = bench.run(run)
    assert (ended.status, ended.reason) == (Status.CANCELED, "enough")
    assert bench.work() == []


def test_what_it_had_reached_counts(bench: Bench) -> None:
    run = bench.bell.enqueue("work", {"then": "done"})
    (work,) = bench.claim()
    bench.bell.cancel(run.id)
    bench.book(work, bench.call(work))
    assert (bench.run(run).status, bench.run(run).result) == (Status.SUCCEEDED, "done")


def test_the_error_of_the_last_try_is_kept(bench: Bench) -> None:
    run = bench.bell.enqueue("work", {"then": "raise"})
    (work,) = bench.claim()
    bench.bell.cancel(run.id, "enough")
    bench.book(work, bench.call(work))
    ended = bench.run(run)
    assert "in the middle" in (ended.error or "")
    assert (ended.failures, ended.attempt) == (1, 1)


def test_one_that_is_asked_for_while_others_are_booked(bench: Bench) -> None:
    """The request comes after the outcome was decided: only the write can know."""
    runs = bench.bell.enqueue_many([("work", {"then": "raise"})] * 5)
    works = bench.claim()
    for work in works:
        bench.finish.put(work, bench.call(work))
    bench.bell.cancel(runs[2].id, "enough")
    bench.finish.step(bench.clock.now())
    statuses = [bench.run(run).status for run in runs]
    assert statuses == [Status.SCHEDULED, Status.SCHEDULED, Status.CANCELED, Status.SCHEDULED, Status.SCHEDULED]
    assert (bench.finish.superseded, len(bench.booked)) == (0, 5)


def test_everybody_hears_of_it(bench: Bench) -> None:
    heard: list[tuple[Run, str]] = []
    tallied: list[str] = []
    bench.booking.notify = lambda pairs: heard.extend((run, change.move) for run, change in pairs)
    bench.booking.tally = lambda ended: tallied.extend(change.move for _, change in ended)
    run = bench.bell.enqueue("work", {"then": "raise"})
    (work,) = bench.claim()
    bench.bell.cancel(run.id)
    bench.book(work, bench.call(work))
    assert ([(run.id, move) for run, move in heard], tallied) == ([(run.id, "cancel")], ["cancel"])


def test_a_listener_that_raises_undoes_nothing(bench: Bench) -> None:
    def fail(_pairs: object) -> None:
        raise RuntimeError("a listener's own fault")

    bench.booking.notify = fail
    run = bench.bell.enqueue("work", {"then": "done"})
    assert [ended.status for ended in bench.work()] == [Status.SUCCEEDED]
    assert (bench.finish.size, bench.finish.superseded) == (0, 0)
    assert bench.run(run).status is Status.SUCCEEDED


class TestReplaced:
    """Runs that another takes the place of are told of like others that were canceled."""

    @pytest.mark.parametrize("options", [{"tag": "t", "replace_tag": True}, {"key": "k", "on_duplicate": "replace"}])
    def test_event_tally_and_notice(self, bench: Bench, options: dict[str, object]) -> None:
        bell = bench.bell
        heard: list[str] = []

        @bell.on("run.canceled")
        def hear(ctx: Context) -> None:
            pass

        bell.engine.put_triggers()
        bell.listen("run.canceled", lambda event: heard.append(event.run_id))
        bell.telling.look()
        old = bell.enqueue("work", {"then": ""}, tag="t", key="k")
        bell.enqueue("work", {"then": ""}, **options)  # type: ignore[arg-type]
        (event,) = bench.store.list_events("default", type="run.canceled", before=None, limit=10)
        assert event.subject == old.id
        assert heard == [old.id]
        tallied = [tally for tally in bench.store.total_tallies() if tally.status == "canceled"]
        assert [(tally.job, tally.count) for tally in tallied] == [("work", 1)]

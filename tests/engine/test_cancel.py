"""A cancel of a running run is not forgotten, whatever becomes of its handler and its worker (A7)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import timedelta

import pytest

from tests.support.bench import Bench
from tests.support.fresh_store import fresh_store
from tests.support.prefetching import hold_ahead
from tests.support.waiting import until
from workbell import Context, Retry, Snooze, Status, StoreError, StoreUnavailable, Workbell
from workbell.engine.work import Work
from workbell.model import state
from workbell.model.outcome import HANDED_BACK
from workbell.model.state import Move, Transition
from workbell.notices.bus import Notice
from workbell.settings import Settings

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
    bench.held.note_dropped([work])
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


@pytest.mark.anyio
async def test_a_claimed_one_that_has_not_begun_ends_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """It waits behind a long handler. The cancel wakes its worker, which would not read the store for half a minute."""
    begun: list[int] = []
    gate = asyncio.Event()
    with Workbell(store=fresh_store(), settings=Settings(poll=60, grace=5)) as bell:

        @bell.job
        async def work(number: int) -> None:
            begun.append(number)
            await gate.wait()

        hold_ahead(monkeypatch, 5)  # one slot, and more in hand than it can execute
        runs = await bell.aenqueue_many(work.request(number=number) for number in range(6))
        async with bell.running(concurrency=1):
            await asyncio.to_thread(until, lambda: len(bell.runs(status="running")) == 6, "all to be claimed")
            await asyncio.to_thread(until, lambda: begun, "the first to begin")
            answer = await bell.acancel(runs[3].id, "enough")
            assert (answer.status, answer.cancel_requested) == (Status.RUNNING, True)
            ended = await bell.await_(runs[3].id, timeout=20)
            assert (ended.status, ended.reason, ended.started_at) == (Status.CANCELED, "enough", None)
            assert await bell.aattempts(ended.id) == []
            gate.set()
            others = [await bell.await_(run.id, timeout=20) for run in runs if run is not runs[3]]
        assert {run.status for run in others} == {Status.SUCCEEDED}
        assert sorted(begun) == [0, 1, 2, 4, 5]


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
    heard: list[Notice] = []
    bench.bell.host.bus.subscribe(heard.extend)
    run = bench.bell.enqueue("work", {"then": "raise"})
    (work,) = bench.claim()
    bench.bell.cancel(run.id)
    bench.book(work, bench.call(work))
    tallied = [tally.status for tally in bench.store.tallies.totals()]
    assert ([(notice.run.id, notice.move) for notice in heard], tallied) == ([(run.id, Move.CANCEL)], ["canceled"])


def test_a_sink_that_raises_undoes_nothing(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_pairs: object) -> None:
        raise RuntimeError("a sink's own fault")

    monkeypatch.setattr(bench, "moved", fail)
    run = bench.bell.enqueue("work", {"then": "done"})
    assert [ended.status for ended in bench.work()] == [Status.SUCCEEDED]
    assert (bench.finish.size, bench.finish.superseded) == (0, 0)
    assert bench.run(run).status is Status.SUCCEEDED


class TestTorn:
    """A write whose answer was lost, or that the store refuses."""

    def test_an_answer_that_was_lost_is_looked_up_also_after_another_write(
        self, bench: Bench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        lost, other = bench.bell.enqueue_many([("work", {"then": "done"}), ("work", {"then": ""})])
        works = {work.run.id: work for work in bench.claim()}
        bench.finish.put(works[lost.id], bench.call(works[lost.id]))
        tear(bench, monkeypatch)
        bench.booking.book([(works[other.id].run, state.release(works[other.id].run, bench.clock.now()))])
        bench.finish.step(bench.clock.now())
        assert (bench.finish.superseded, [work.run.id for work in bench.booked]) == (0, [lost.id])
        assert [run.id for run, _ in bench.written] == [other.id, lost.id]

    def test_a_cancel_that_was_asked_for_meanwhile(self, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        run = bench.bell.enqueue("work", {"then": "raise"})
        (work,) = bench.claim()
        bench.finish.put(work, bench.call(work))
        bench.bell.cancel(run.id, "enough")
        tear(bench, monkeypatch, number=2)
        bench.finish.step(bench.clock.now())
        ((_, change),) = bench.written
        assert (change.move, change.reason, bench.run(run).status) == ("cancel", "enough", Status.CANCELED)

    @pytest.mark.parametrize("how", ["release", "lose"])
    def test_a_run_that_is_given_back_does_not_fail_because_it_cannot_be_written(
        self, bench: Bench, monkeypatch: pytest.MonkeyPatch, how: str
    ) -> None:
        run = bench.bell.enqueue("work", {"then": ""})
        (work,) = bench.claim()
        now = bench.clock.now()
        change = state.release(work.run, now) if how == "release" else state.lose(work.run, now, keep=timedelta(days=1))
        with monkeypatch.context() as refusing:
            refusing.setattr(bench.store.runs, "apply", refuse)
            assert bench.booking.book([(work.run, change)]) == []
        assert bench.run(run).status is Status.RUNNING  # and is decided on again


def tear(bench: Bench, monkeypatch: pytest.MonkeyPatch, number: int = 1) -> None:
    """Book what waits; the answer to one of its writes is lost."""
    sound, writes = bench.store.runs.apply, iter(range(1, 100))

    def apply(changes: Sequence[Transition]) -> set[str]:
        moved = sound(changes)
        if next(writes) == number:
            raise StoreUnavailable("the connection was lost")
        return moved

    with monkeypatch.context() as torn:
        torn.setattr(bench.store.runs, "apply", apply)
        with pytest.raises(StoreUnavailable):
            bench.finish.step(bench.clock.now())


def refuse(_changes: Sequence[Transition]) -> set[str]:
    raise StoreError("this cannot be taken")


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
        old = bell.enqueue("work", {"then": ""}, tag="t", key="k")
        bell.enqueue("work", {"then": ""}, **options)  # type: ignore[arg-type]
        (event,) = bench.store.events.list("default", type="run.canceled", before=None, limit=10)
        assert event.subject == old.id
        assert heard == [old.id]
        tallied = [tally for tally in bench.store.tallies.totals() if tally.status == "canceled"]
        assert [(tally.job, tally.count) for tally in tallied] == [("work", 1)]

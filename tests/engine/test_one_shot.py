"""`bell.dispatch` and `bell.consume`: one round, without an engine, that says what it did."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.support.fresh_store import fresh_store
from tests.support.third_party import install_queue
from tests.support.waiting import until
from workbell import (
    Answer,
    Context,
    Event,
    InvalidOption,
    Retry,
    Run,
    Status,
    StoreUnavailable,
    UnknownMessage,
    Workbell,
)
from workbell.engine import due_round, one_shot
from workbell.model import state
from workbell.model.clock import ManualClock
from workbell.model.one_shot import Consumed, Dispatched
from workbell.queues import guarded
from workbell.settings import Settings
from workbell.stores.port import Held, LeaseTerms

MINUTE = timedelta(minutes=1)


@pytest.fixture
def bell() -> Iterator[Workbell]:
    with Workbell(store=fresh_store(), settings=Settings(poll=0.02, lease=2, concurrency=4)) as bell:
        yield bell


def answers(consumed: Consumed) -> list[tuple[str, Answer, Status | None]]:
    return [(one.run, one.answer, one.status) for one in consumed.results]


class TestDispatch:
    def test_what_is_due_is_done_once(self) -> None:
        clock = ManualClock()
        with Workbell(store=fresh_store(clock), settings=Settings(lease=1)) as bell:

            @bell.job(cron="* * * * *")
            def tick() -> None: ...

            @bell.on("order.*")
            def note(event: Event) -> None: ...

            @bell.job
            def work() -> None: ...

            assert bell.dispatch() == Dispatched()
            bell.emit("order.paid")
            delayed = bell.enqueue("work", delay=30)
            clock.advance(60)
            done = bell.dispatch()
            assert (done.fired, done.fanned_out, done.queued, done.recovered) == (1, 1, 1, 0)
            assert bell.dispatch() == Dispatched()
            assert sorted(run.job for run in bell.runs(status="queued")) == ["note", "tick", "work"]
            assert bell.get(delayed.id).status is Status.QUEUED

    def test_the_limit_is_of_each_kind(self) -> None:
        clock = ManualClock()
        with Workbell(store=fresh_store(clock), settings=Settings()) as bell:
            bell.job(_work)
            bell.enqueue_many([bell.request("_work", delay=5) for _ in range(7)])
            clock.advance(10)
            assert [bell.dispatch(limit=3).queued for _ in range(4)] == [3, 3, 1, 0]

    def test_ended_leases_are_taken_over_unless_they_are_renewed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        clock = ManualClock()
        with Workbell(store=fresh_store(clock), settings=Settings(lease=1)) as bell:
            bell.job(_work)
            dead, living = _claimed(bell), _claimed(bell)
            clock.advance(2)

            def renew(_seconds: float) -> None:
                now = clock.now()
                assert bell.store.runs.renew([living.held], now=now, lease_until=now + MINUTE)

            monkeypatch.setattr("workbell.engine.recover.time.sleep", renew)
            assert bell.dispatch().recovered == 1
            assert bell.get(dead.run.id).status is Status.QUEUED
            assert bell.get(living.run.id).status is Status.RUNNING

    def test_many_ended_leases_are_waited_for_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        clock, naps = ManualClock(), []
        with Workbell(store=fresh_store(clock), settings=Settings(lease=1)) as bell:
            bell.job(_work)
            monkeypatch.setattr(due_round, "BATCH", 2)
            for _ in range(5):
                _claimed(bell)
            clock.advance(2)
            monkeypatch.setattr("workbell.engine.recover.time.sleep", naps.append)
            assert bell.dispatch().recovered == 5
            assert naps == [pytest.approx(0.6)]

    def test_expired_runs_end(self) -> None:
        clock = ManualClock()
        with Workbell(store=fresh_store(clock), settings=Settings()) as bell:
            bell.job(_work)
            run = bell.enqueue("_work", expires=5)
            clock.advance(6)
            assert bell.dispatch().recovered == 1
            assert bell.get(run.id).status is Status.CANCELED

    def test_expired_runs_end_also_when_leases_have_ended(self, monkeypatch: pytest.MonkeyPatch) -> None:
        clock = ManualClock()
        with Workbell(store=fresh_store(clock), settings=Settings(lease=1)) as bell:
            bell.job(_work)
            _claimed(bell)
            run = bell.enqueue("_work", expires=5)
            clock.advance(6)
            monkeypatch.setattr("workbell.engine.recover.time.sleep", lambda _seconds: None)
            assert bell.dispatch().recovered == 2
            assert bell.get(run.id).status is Status.CANCELED

    def test_history_past_its_retention_is_removed(self) -> None:
        clock = ManualClock()
        with Workbell(store=fresh_store(clock), settings=Settings()) as bell:
            bell.job(_work)
            run = bell.enqueue("_work")
            bell.cancel(run.id)
            bell.dispatch()
            clock.advance(timedelta(days=40).total_seconds())
            assert bell.dispatch().removed >= 1
            assert bell.store.runs.find([run.id]) == {}

    @pytest.mark.parametrize("limit", [0, -1, 10_001, 1.5, "5", True, None])
    def test_a_bad_limit(self, bell: Workbell, limit: Any) -> None:
        with pytest.raises(InvalidOption, match="limit: "):
            bell.dispatch(limit=limit)

    @pytest.mark.anyio
    async def test_async(self, bell: Workbell) -> None:
        assert await bell.adispatch(limit=5) == Dispatched()


class TestQueue:
    @pytest.fixture
    def bell(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workbell]:
        monkeypatch.syspath_prepend(install_queue(tmp_path / "site"))
        self.folder = tmp_path / "queue"
        self.folder.mkdir()
        settings = Settings(url=f"sqlite:///{tmp_path}/x.db", queue_url=f"folder://{self.folder}")
        clock = ManualClock()
        with Workbell(settings=settings, store=fresh_store(clock)) as bell:
            bell.job(_work)
            yield bell
        sys.modules.pop("folder_queue", None)

    def sent(self) -> int:
        messages = [file for file in self.folder.iterdir() if "@" in file.name]
        for file in messages:
            file.unlink()
        return len(messages)

    def test_what_is_queued_is_sent(self, bell: Workbell) -> None:
        clock = bell.store.clock
        assert isinstance(clock, ManualClock)
        bell.enqueue("_work", delay=5)
        assert self.sent() == 0
        clock.advance(5)
        done = bell.dispatch()
        assert (done.queued, done.sent, self.sent()) == (1, 1, 1)

    def test_what_was_queued_for_a_minute_is_sent_again(self, bell: Workbell) -> None:
        """D11: the message may be lost."""
        clock = bell.store.clock
        assert isinstance(clock, ManualClock)
        bell.enqueue("_work")
        assert self.sent() == 1  # and is lost
        clock.advance(one_shot.SEND_AGAIN.total_seconds())
        assert (bell.dispatch().sent, self.sent()) == (0, 0)
        clock.advance(1)
        assert (bell.dispatch().sent, self.sent()) == (1, 1)
        bell.pause(job="_work")
        assert (bell.dispatch().sent, self.sent()) == (0, 0)

    def test_a_queue_that_is_away_loses_nothing(
        self, bell: Workbell, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(guarded, "REST", 0.0)  # seconds without calls after an error
        clock = bell.store.clock
        assert isinstance(clock, ManualClock)
        bell.enqueue("_work", delay=5)
        clock.advance(5)
        (self.folder / "broken").touch()
        with caplog.at_level(logging.WARNING, "workbell.queues"):
            assert bell.dispatch().sent == 0
        assert "the queue cannot send" in caplog.text
        (self.folder / "broken").unlink()
        clock.advance(61)
        assert bell.dispatch().sent == 1


class TestConsume:
    def test_until_nothing_is_left(self, bell: Workbell) -> None:
        @bell.job
        async def later(number: int) -> int:
            if number:
                await bell.aenqueue("later", {"number": number - 1})
            return number

        first = later.enqueue(number=3)
        consumed = bell.consume()
        assert [one.answer for one in consumed.results] == [Answer.DONE] * 4
        assert consumed.results[0].run == first.id
        assert bell.consume() == Consumed()
        assert bell.runs(status="queued") == []

    def test_the_limit(self, bell: Workbell) -> None:
        bell.job(_work)
        bell.enqueue_many([("_work", {})] * 12)
        assert [len(bell.consume(limit=5).results) for _ in range(4)] == [5, 5, 2, 0]  # 4 at once

    def test_chosen_runs_alone(self, bell: Workbell) -> None:
        bell.job(_work)
        one, two, three = bell.enqueue_many([("_work", {})] * 3)
        consumed = bell.consume(runs=[three.id, one.id, three.id])
        assert answers(consumed) == [
            (three.id, Answer.DONE, Status.SUCCEEDED),
            (one.id, Answer.DONE, Status.SUCCEEDED),
        ]
        assert bell.get(two.id).status is Status.QUEUED

    @pytest.mark.parametrize("read", [str, str.encode, json.loads])
    def test_a_message_as_it_was_delivered(self, bell: Workbell, read: Callable[[str], Any]) -> None:
        """D7."""
        bell.job(_work)
        one, two = bell.enqueue_many([("_work", {})] * 2)
        consumed = bell.consume(message=read(f'{{"version": 1, "run": "{one.id}"}}'))
        assert answers(consumed) == [(one.id, Answer.DONE, Status.SUCCEEDED)]
        with pytest.raises(UnknownMessage, match="version 2"):
            bell.consume(message=read(f'{{"version": 2, "run": "{two.id}"}}'))
        with pytest.raises(InvalidOption, match="the message names a run already"):
            bell.consume(message=read(f'{{"run": "{two.id}"}}'), runs=[two.id])
        assert bell.get(two.id).status is Status.QUEUED

    def test_what_cannot_be_executed_is_ignored(self, bell: Workbell) -> None:
        bell.job(_work)
        ended, other, foreign = bell.enqueue_many([("_work", {})] * 3)
        aimed = bell.enqueue("_work", target="box1")
        bell.cancel(ended.id)
        bell.store.runs.take([other.id], _terms(bell))
        bell.registry.replace([], ["_work"])
        unknown = ended.id[:-4] + "0000"
        consumed = bell.consume(runs=[ended.id, other.id, foreign.id, aimed.id, unknown, "nonsense", ""])
        assert [(one.answer, one.reason) for one in consumed.results] == [
            (Answer.IGNORED, "it has ended"),
            (Answer.IGNORED, "another worker has it"),
            (Answer.IGNORED, "job '_work' is not served here"),
            (Answer.IGNORED, "job '_work' is not served here"),
            (Answer.IGNORED, "there is no such run"),
            (Answer.IGNORED, "there is no such run"),
            (Answer.IGNORED, "there is no such run"),
        ]
        assert bell.get(foreign.id).status is Status.QUEUED

    def test_runs_for_an_agent_are_left_to_it(self, bell: Workbell) -> None:
        """Another machine, and other secrets: code for the job is not enough."""
        bell.job(_work)
        aimed, own = bell.enqueue("_work", target="box1"), bell.enqueue("_work")
        assert answers(bell.consume()) == [(own.id, Answer.DONE, Status.SUCCEEDED)]
        assert answers(bell.consume(runs=[aimed.id])) == [(aimed.id, Answer.IGNORED, Status.QUEUED)]
        assert (bell.get(aimed.id).status, bell.get(aimed.id).attempt) == (Status.QUEUED, 0)

    def test_what_can_be_executed_later_is_to_be_tried_again(self, bell: Workbell) -> None:
        bell.job(_work)
        bell.job(concurrency=1)(_limited)
        busy, limited = bell.enqueue_many([("_limited", {})] * 2)
        bell.store.runs.take([busy.id], _terms(bell))
        delayed, held_up = bell.enqueue("_work", delay=90), bell.enqueue("_work", queue="slow")
        bell.pause(queue="slow")
        consumed = bell.consume(runs=[limited.id, delayed.id, held_up.id])
        assert [one.answer for one in consumed.results] == [Answer.RETRY] * 3
        assert [one.reason for one in consumed.results][1:] == ["not due yet", "paused"]
        wait = [one.retry_after or 0 for one in consumed.results]
        assert wait[0] == 5
        assert 85 < wait[1] <= 90
        assert wait[2] == 60
        assert [bell.get(run.id).attempt for run in (limited, delayed, held_up)] == [0, 0, 0]

    def test_chosen_runs_of_a_limit_one_after_the_other(self, bell: Workbell) -> None:
        at_once, most = [0], [0]

        @bell.job(concurrency=1)
        def alone() -> None:
            at_once[0] += 1
            most[0] = max(most[0], at_once[0])
            time.sleep(0.01)
            at_once[0] -= 1

        ids = [alone.enqueue().id for _ in range(4)]
        assert [one.answer for one in bell.consume(runs=ids).results] == [Answer.DONE] * 4
        assert most == [1]

    @pytest.mark.parametrize("plain", [True, False])
    def test_what_does_not_end_in_time_is_handed_back(
        self, bell: Workbell, plain: bool, caplog: pytest.LogCaptureFixture
    ) -> None:
        gate = threading.Event()

        @bell.job
        async def on_loop() -> None:
            await asyncio.sleep(60)

        @bell.job
        def in_thread(ctx: Context) -> None:
            gate.wait(60)

        run = (in_thread if plain else on_loop).enqueue()
        begun = time.monotonic()
        (one,) = bell.consume(seconds=0.2).results
        gate.set()
        assert time.monotonic() - begun < 20
        assert (one.answer, one.status, one.retry_after) == (Answer.RETRY, Status.QUEUED, 60)
        assert one.reason == "handed back: not ended after 0.2 s"
        found = bell.get(run.id)
        assert (found.status, found.failures, found.losses) == (Status.QUEUED, 0, 0)
        assert f"handed back (not ended after 0.2 s): {run.id}" in caplog.text

    def test_leases_are_renewed_and_timeouts_hold(self, bell: Workbell) -> None:
        @bell.job
        async def longer_than_its_lease() -> None:
            await asyncio.sleep(3)

        @bell.job(timeout=0.1, retry=Retry(attempts=1))
        async def too_long() -> None:
            await asyncio.sleep(60)

        long, short = longer_than_its_lease.enqueue(), too_long.enqueue()
        assert sorted(answers(bell.consume())) == sorted(
            [(long.id, Answer.DONE, Status.SUCCEEDED), (short.id, Answer.DONE, Status.FAILED)]
        )
        assert bell.get(short.id).reason == "timeout"

    def test_a_failure_is_booked_with_its_retry(self, bell: Workbell) -> None:
        @bell.job(retry=Retry(attempts=2, delay=60))
        def fails() -> None:
            raise ValueError("no")

        run = fails.enqueue()
        assert answers(bell.consume(runs=[run.id])) == [(run.id, Answer.DONE, Status.SCHEDULED)]
        assert bell.get(run.id).failures == 1

    def test_a_suspect_is_executed_alone(self, bell: Workbell) -> None:
        beside: dict[str, int] = {}
        running: set[str] = set()

        @bell.job
        def watch(ctx: Context) -> None:
            running.add(ctx.run.id)
            time.sleep(0.05)
            for run_id in running:
                beside[run_id] = max(beside.get(run_id, 0), len(running))
            running.discard(ctx.run.id)

        runs = [watch.enqueue() for _ in range(4)]
        (taken,) = bell.store.runs.take([runs[0].id], _terms(bell))
        lost = state.lose(taken, bell.store.clock.now(), keep=MINUTE, blamed=True)
        bell.runtime.booking.book([(taken, lost)])
        assert bell.get(runs[0].id).suspect
        assert len(bell.consume().results) == 4
        assert beside[runs[0].id] == 1
        assert max(beside.values()) > 1, "nothing was executed at once: the test proves nothing"

    def test_an_engine_beside_it(self, bell: Workbell) -> None:
        counted: list[str] = []

        @bell.job
        def count(ctx: Context) -> None:
            counted.append(ctx.run.id)

        async def both() -> list[Run]:
            async with bell.running():
                runs = [await bell.aenqueue("count") for _ in range(30)]
                await asyncio.gather(*(bell.aconsume() for _ in range(3)))
                return [await bell.await_(run.id, timeout=30) for run in runs]

        runs = asyncio.run(both())
        assert sorted(counted) == sorted(run.id for run in runs)

    @pytest.mark.anyio
    async def test_async_handlers_are_on_the_callers_loop(self, bell: Workbell) -> None:
        loops = []

        @bell.job
        async def where() -> None:
            loops.append(asyncio.get_running_loop())

        where.enqueue()
        await bell.aconsume()
        where.enqueue()
        bell.consume()  # also from async code, then on a loop of its own
        assert loops[0] is asyncio.get_running_loop()
        assert loops[1] is not loops[0]

    @pytest.mark.anyio
    async def test_a_cancelled_call_hands_back(self, bell: Workbell) -> None:
        begun = asyncio.Event()

        @bell.job
        async def rest() -> None:
            begun.set()
            await asyncio.sleep(60)

        run = rest.enqueue()
        task = asyncio.ensure_future(bell.aconsume())
        await asyncio.wait_for(begun.wait(), 30)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert bell.get(run.id).status is Status.QUEUED

    def test_a_store_that_is_away(self, bell: Workbell, monkeypatch: pytest.MonkeyPatch) -> None:
        bell.job(_work)
        bell.enqueue("_work")
        bell.consume()

        def away(*_: object, **__: object) -> None:
            raise StoreUnavailable("the store is away; bring it back.")

        monkeypatch.setattr(bell.store.runs, "survey", away)
        with pytest.raises(StoreUnavailable, match="is away"):
            bell.consume()

    def test_nothing_of_it_stays(self, bell: Workbell) -> None:
        bell.job(_work)
        bell.enqueue("_work")
        before = set(threading.enumerate())  # of other tests in this process
        heard = bell.runtime.publisher.bus.wanted
        bell.consume()
        until(lambda: not set(threading.enumerate()) - before, "its threads to end")
        assert bell.workers() == []
        assert bell.runtime.publisher.bus.wanted == heard

    @pytest.mark.parametrize(
        "words",
        [
            *({"limit": limit} for limit in (0, 1001, 1.5, "5", True, None)),
            *({"seconds": seconds} for seconds in (0, -1, "x", float("nan"))),
            *({"runs": runs} for runs in ("abc", b"abc", 7, [7], [None], [["abc"]], {"abc"})),
        ],
    )
    def test_bad_words(self, bell: Workbell, words: dict[str, object]) -> None:
        with pytest.raises(InvalidOption):
            bell.consume(**words)  # type: ignore[arg-type]


class Taken:
    """A run that a worker has claimed."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.held = Held(run.id, run.token)


def _claimed(bell: Workbell) -> Taken:
    run = bell.enqueue("_work")
    (taken,) = bell.store.runs.take([run.id], _terms(bell))
    return Taken(taken)


def _terms(bell: Workbell) -> LeaseTerms:
    now = bell.store.clock.now()
    return LeaseTerms.drawn("elsewhere/1/1/a", now, now + timedelta(seconds=1))


def _work() -> None: ...


def _limited() -> None: ...

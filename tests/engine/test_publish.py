"""Telling in an engine (A7, C2): starts, skipped ticks, chains that end, new subscriptions, listeners, dead workers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from tests.support.bench import Bench
from tests.support.fresh_store import fresh_store
from tests.support.scheduling import DECLARED, look, new_scheduler, told
from tests.support.subscribing import stored, subscribe
from tests.support.waiting import until
from workbell import Retry, Status, Workbell
from workbell.claims.claiming import FairClaims
from workbell.engine.materialise import Materialise
from workbell.engine.poll_subscribers import GAP, PollSubscribers
from workbell.errors import StoreError, StoreUnavailable
from workbell.events.publishing import EventPublishing
from workbell.model.event import DEPTH_LIMIT, MatchOutcome
from workbell.model.ids import new_id
from workbell.model.worker import alias_of
from workbell.notices.listeners import LifecycleEvent
from workbell.runs.publisher import RunPublisher
from workbell.settings import Settings
from workbell.stores.port import Store
from workbell.testing import drain
from workbell.workers.keeper import Keeper
from workbell.workers.messages import Bury, DeathVerdict, StoreNamed

MINUTE = timedelta(minutes=1)
NEXT = DECLARED + timedelta(seconds=30)


class TestStarts:
    def make(self, bench: Bench) -> tuple[RunPublisher, list[int]]:
        @bench.bell.job
        def work() -> None: ...

        hints: list[int] = []
        events = bench.publisher.events
        return RunPublisher(lambda: bench.store, events, hint=lambda: hints.append(1)), hints

    def test_one_event_for_each_attempt(self) -> None:
        bench = Bench()
        publisher, hints = self.make(bench)
        bench.bell.enqueue_many([("work", {})] * 2)
        runs = [work.run for work in bench.claim()]
        publisher.started(runs)
        assert (stored(bench.store), hints) == ([], [])
        subscribe(bench.store, "job.started")
        publisher.poll()
        publisher.started(runs)
        publisher.started(runs)
        assert [event.data["run_id"] for event in stored(bench.store)] == [run.id for run in runs]
        assert hints == [1], "what was stored before needs no hint"

    def test_a_store_that_is_away_does_not_stop_the_claiming(self, monkeypatch: pytest.MonkeyPatch) -> None:
        bench = Bench()
        publisher, hints = self.make(bench)
        subscribe(bench.store, "job.*")
        publisher.poll()
        bench.bell.enqueue("work")

        def away(*_: object) -> None:
            raise StoreUnavailable("gone")

        monkeypatch.setattr(bench.store.events, "add", away)
        assert len(bench.claim()) == 1
        publisher.started([bench.bell.runs()[0]])
        assert hints == []

    def test_hints_are_gathered(self) -> None:
        """A nudge comes with every enqueue: the first wakes the duty, and it looks after a gap."""
        bench = Bench()
        tell = PollSubscribers(bench.publisher, 1)
        now = bench.clock.now()
        assert tell.step(now) == 1
        subscribe(bench.store, "job.*")
        assert tell.step(now + timedelta(seconds=0.5)) == 0.5
        assert not bench.publisher.events.anything
        assert [tell.hint() for _ in range(3)] == [True, False, False]
        assert tell.step(now + timedelta(seconds=0.5)) == pytest.approx(GAP)
        assert tell.hint() is False  # it looks soon anyway
        assert tell.step(now + timedelta(seconds=0.5 + GAP)) == 1
        assert bench.publisher.events.anything
        assert tell.hint() is True


class TestSkippedTicks:
    def test_told_with_the_ledger(self) -> None:
        store = fresh_store()
        bell, _ = told(store)
        subscribe(store, "schedule.*")
        bell.runtime.publisher.poll()
        bell.schedules.put("often", job="work", cron="* * * * *")
        look(bell, NEXT)
        assert stored(store) == []  # it fired
        for minute in (1, 2):
            look(bell, NEXT + minute * MINUTE)
        events = stored(store, "schedule.skipped")
        assert [event.data["due"] for event in events] == ["2030-01-07T00:02:00Z", "2030-01-07T00:03:00Z"]
        assert {(event.data["name"], event.data["schedule"], event.data["count"]) for event in events} == {
            ("often", "* * * * *", 1)
        }
        assert "has not ended" in events[0].data["reason"]

    def test_a_span_is_one_event(self) -> None:
        store = fresh_store()
        bell, _ = told(store)
        subscribe(store, "schedule.skipped")
        bell.runtime.publisher.poll()
        bell.schedules.put("often", job="work", cron="* * * * *", catch_up="none")
        look(bell, NEXT + 60 * MINUTE)
        (event,) = stored(store)
        assert (event.data["due"], event.data["count"]) == ("2030-01-07T00:01:00Z", 60)

    def test_whoever_was_too_late_tells_nothing(self, store: Store) -> None:
        bell, _ = told(store)
        subscribe(store, "schedule.skipped")
        bell.runtime.publisher.poll()
        heard: list[LifecycleEvent] = []
        bell.listen("schedule.skipped", heard.append)
        bell.schedules.put("often", job="work", cron="* * * * *")
        look(bell, NEXT)
        due = store.schedules.due(NEXT + MINUTE, 10)
        first = new_scheduler(bell)
        second = Materialise(store, bell.registry, lambda _: None, 1.0, bell.runtime.publisher)
        late = second._decide_all(due, NEXT + MINUTE)
        first.fire_due(NEXT + MINUTE)
        assert len(late[0].emits) == 1
        second._write(due, late, NEXT + MINUTE)
        assert len(stored(store)) == len(heard) == 1

    def test_what_was_refused_can_be_told_later(self, store: Store) -> None:
        """Nothing of it is left behind: not the event, and not its key either, which a later one has too."""
        bell, _ = told(store)
        subscribe(store, "schedule.skipped")
        bell.runtime.publisher.poll()
        bell.schedules.put("often", job="work", cron="* * * * *")
        look(bell, NEXT)
        due = store.schedules.due(NEXT + MINUTE, 10)
        (change,) = new_scheduler(bell)._decide_all(due, NEXT + MINUTE)
        with pytest.raises(StoreError):
            store.schedules.write([msgspec.structs.replace(change, ticks=change.ticks * 2)])
        assert stored(store) == []
        again = msgspec.structs.replace(change.emits[0], id=new_id())
        store.schedules.write([msgspec.structs.replace(change, emits=(again,))])
        assert [event.id for event in stored(store)] == [again.id]

    def test_nothing_where_nobody_subscribes(self) -> None:
        store = fresh_store()
        bell, _ = told(store)
        subscribe(store, "*")
        bell.runtime.publisher.poll()
        bell.schedules.put("often", job="work", cron="* * * * *")
        for minute in range(3):
            look(bell, NEXT + minute * MINUTE)
        assert stored(store) == []


class TestListeners:
    """Of what is no move of a run."""

    def test_skipped_ticks(self) -> None:
        store = fresh_store()
        bell, _ = told(store)
        heard: list[LifecycleEvent] = []
        scheduler = new_scheduler(bell)
        bell.schedules.put("often", job="work", cron="* * * * *")
        look(bell, NEXT, scheduler)
        look(bell, NEXT + MINUTE, scheduler)
        stop = bell.listen("schedule.skipped", heard.append)
        look(bell, NEXT + 2 * MINUTE, scheduler)
        assert [(event.name, event.due, event.count) for event in heard] == [("often", NEXT + 2 * MINUTE, 1)]
        stop()
        look(bell, NEXT + 3 * MINUTE, scheduler)
        assert len(heard) == 1
        assert stored(store) == []

    def test_lost_workers(self) -> None:
        bench = Bench(name="box/1/2/a")

        @bench.bell.job
        def work() -> None: ...

        heard: list[LifecycleEvent] = []
        bench.bell.listen("worker.*", heard.append)
        bench.bell.enqueue("work", expires=5)
        bench.clock.advance(6)
        run = bench.bell.enqueue("work")
        bench.claim()
        bench.lapse()
        assert [(event.worker, event.host, event.runs) for event in heard] == [("box/1/2/a", "box", (run.id,))]


class TestChains:
    @pytest.mark.parametrize("pattern", ["job.completed", "job.started"])
    def test_of_a_run_that_such_an_event_made_none_is_told(self, pattern: str) -> None:
        """Else each of three that hear of ends would hear of all the others' ends too: 3,279 runs for one."""
        with Workbell(store=fresh_store(), settings=Settings()) as bell:

            @bell.job
            def echo() -> None: ...

            for _ in range(3):
                subscribe(bell.store, pattern, job="echo")
            echo.enqueue()
            assert len(drain(bell)) == 4
            assert len(stored(bell.store)) == 1

    def test_what_such_a_run_enqueues_is_told_of_until_the_chain_is_too_long(self, sqlite_store: Store) -> None:
        """C2: eight events, one after the other, and the last one says why nothing follows."""
        store = sqlite_store
        with Workbell(settings=Settings(), store=store) as bell:

            @bell.job
            def work() -> None: ...

            @bell.job
            def echo() -> None:
                work.enqueue()

            trigger = subscribe(store, "job.completed", job="echo")
            work.enqueue()
            ended = drain(bell)
            assert [run.job for run in ended].count("work") == DEPTH_LIMIT
            events = stored(store)
            assert [event.depth for event in events] == list(range(1, DEPTH_LIMIT + 1))
            (last,) = store.events.matches(events[-1].id, after=None, limit=10)
            assert (last.outcome, last.run, last.subscriber) == (MatchOutcome.TOO_DEEP, None, trigger.id)
            assert "the limit is 8" in (last.reason or "")
            assert drain(bell) == []

    def test_cancellations_too(self) -> None:
        with Workbell(store=fresh_store(), settings=Settings()) as bell:
            store = bell.store

            @bell.job
            def again() -> None:
                bell.cancel(again.options(delay=60).enqueue().id)

            subscribe(store, "run.canceled", job="again")
            again.enqueue()
            drain(bell)
            assert [event.depth for event in stored(store)] == list(range(1, DEPTH_LIMIT + 1))


@pytest.fixture
def bell() -> Iterator[Workbell]:
    with Workbell(store=fresh_store(), settings=Settings(lease=0.5, poll=0.02, grace=5)) as bell:
        yield bell


@pytest.mark.anyio
class TestRunning:
    async def test_triggers_hear_of_jobs(self, bell: Workbell) -> None:
        ended: list[str] = []

        @bell.job(retry=Retry(attempts=1))
        def work(fail: bool = False) -> None:
            if fail:
                raise ValueError("no")

        @bell.job
        def note() -> None:
            ended.append("noted")

        subscribe(bell.store, "job.failed", job="note")
        started = subscribe(bell.store, "job.started", job="note", enabled=False)
        async with bell.running():
            await work.aenqueue()
            await work.aenqueue(fail=True)
            await asyncio.to_thread(until, lambda: ended, "the trigger's run")
            # One that comes while it runs is heard from about a poll later on.
            subscribe(bell.store, "job.completed", job="note", enabled=False)
            await asyncio.to_thread(until, lambda: _completed(bell, work), "an event of the new subscription")
        kinds = {event.type for event in stored(bell.store)}
        assert kinds == {"job.started", "job.failed", "job.completed"}
        assert len(stored(bell.store, "job.failed")) == 1
        matches = bell.store.events.matches_of_subscriber(started.id, before=None, limit=100)
        assert len(matches) >= 2
        assert {match.outcome for match in matches} == {MatchOutcome.DISABLED}

    async def test_listeners_never_touch_a_run(self, bell: Workbell) -> None:
        heard: list[LifecycleEvent] = []

        @bell.job
        def work() -> None: ...

        def broken(event: LifecycleEvent) -> None:
            heard.append(event)
            raise RuntimeError("a listener's own trouble")

        for pattern in ("job.*", "run.canceled", "worker.lost"):
            bell.listen(pattern, broken)
        async with bell.running():
            run = await bell.await_((await work.aenqueue()).id, timeout=30)
            canceled = await bell.acancel((await work.options(delay=60).aenqueue()).id)
        assert (run.status, canceled.status) == (Status.SUCCEEDED, Status.CANCELED)
        assert [event.type for event in heard] == ["job.started", "job.completed", "run.canceled"]
        assert (heard[-1].run_id, heard[-1].reason) == (canceled.id, "canceled on request")
        assert stored(bell.store) == []


def _completed(bell: Workbell, work: Any) -> bool:
    bell.wait(work.enqueue().id, timeout=30)
    return bool(stored(bell.store, "job.completed"))


class TestKeeper:
    @pytest.mark.parametrize("verdict", DeathVerdict)
    def test_a_buried_worker(self, sqlite_url: str, verdict: DeathVerdict) -> None:
        """One that was told to stop is not lost."""
        with Workbell(sqlite_url) as bell:

            @bell.job
            def work() -> None: ...

            bell.store.check()
            subscribe(bell.store, "worker.lost")
            run = work.enqueue()
            now = bell.store.clock.now()
            claims = FairClaims(bell.store)
            claimant = Bench(bell.store, name="box/1/2/a").consume._claimant._replace(serves=lambda _lane: True)
            assert claims.claim(claimant, 1, now)
            keeper = Keeper(StoreNamed(sqlite_url, 30.0, 60.0, 60.0), None)  # type: ignore[arg-type]
            try:
                for last in (False, True):
                    keeper._bury(Bury("box/1/2/a", "was killed", verdict, [run.id], []), last=last)
                keeper._bury(Bury("box/1/2/idle", "was killed", verdict, [], []), last=True)
            finally:
                keeper._store.close()
            assert bell.get(run.id).status is Status.QUEUED
            events = [(event.data["worker"], event.data.get("runs")) for event in stored(bell.store)]
            told = [("box/1/2/a", [run.id]), ("box/1/2/idle", None)]
            assert events == ([] if verdict is DeathVerdict.HANDED_BACK else told)

    def test_the_tenant_of_the_program_learns_the_worker(self, sqlite_url: str) -> None:
        """From the keeper as from an engine; the others know it by its alias."""
        lost = "box/1/2/keeper", "box/1/2/engine"
        with Workbell(sqlite_url, tenant="home") as bell:
            bell.store.check()
            for tenant in ("home", "default"):
                subscribe(bell.store, "worker.lost", tenant=tenant)
            keeper = Keeper(StoreNamed(sqlite_url, 30.0, 60.0, 60.0, bell.tenant), None)  # type: ignore[arg-type]
            try:
                keeper._bury(Bury(lost[0], "was killed", DeathVerdict.INNOCENT, [], []), last=True)
            finally:
                keeper._store.close()
            publisher = bell.runtime.publisher
            publisher.poll()
            publisher.missing([lost[1]], bell.store.clock.now())
            for tenant, known in (("home", [*lost]), ("default", [alias_of(worker) for worker in lost])):
                assert [event.data["worker"] for event in stored(bell.store, tenant=tenant)] == known


def test_without_subscriptions_to_look_at_nothing_is_told() -> None:
    events = EventPublishing()
    events.poll()
    assert not events.anything

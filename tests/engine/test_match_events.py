"""Stored events become runs, one for each trigger and endpoint that they match, and the ledger says why (C2-C4, C8)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest

from tests.support.event_scheduling import look, scheduler
from tests.support.event_triggers import trigger
from tests.support.scheduling import live, told
from workbell import Status, Workbell
from workbell.engine import match_events as module
from workbell.engine.match_events import GAP, MatchEvents
from workbell.errors import StoreError, StoreUnavailable
from workbell.events.fan_out import DELIVERY_QUEUE
from workbell.events.subscriptions import Subscriptions
from workbell.model.endpoint import Endpoint
from workbell.model.event import DEPTH_LIMIT, SYSTEM_SOURCE, Event, FannedOut, Match, MatchOutcome
from workbell.model.ids import new_id
from workbell.model.job import DELIVERY
from workbell.model.retry import Retry
from workbell.model.trigger import DEFAULT_RETRY, Trigger
from workbell.stores.port import Store

DAY = timedelta(days=1)


@pytest.fixture
def bell(store: Store) -> Workbell:
    """A Workbell on each kind of store whose time is told, with a job `work`."""
    return told(store)[0]


def hear(bell: Workbell, pattern: str, **fields: Any) -> Trigger:
    made = trigger(bell.store.clock, pattern, **({"job": "work"} | fields))
    assert bell.store.subscribers.write_trigger(made, None)
    return made


def receive(bell: Workbell, *patterns: str, **fields: Any) -> Endpoint:
    now = bell.store.clock.now()
    made = Endpoint(
        id=new_id(), url="https://example.com/", patterns=patterns, created_at=now, updated_at=now, **fields
    )
    assert bell.store.subscribers.write_endpoint(made, None)
    return made


def stored(bell: Workbell, *kinds: str, **fields: Any) -> list[Event]:
    """Events as they could be in a store, also such as nobody could have emitted."""
    now = bell.store.clock.now()
    made = [msgspec.structs.replace(Event(new_id(), "default", kind, "/test", now, now), **fields) for kind in kinds]
    assert all(added.created for added in bell.store.events.add(made))
    return made


def ledger(bell: Workbell, event: Event) -> list[Match]:
    return bell.store.events.matches(event.id, after=None, limit=100)


def fates(bell: Workbell, event: Event) -> set[tuple[str, MatchOutcome]]:
    return {(match.subscriber, match.outcome) for match in ledger(bell, event)}


def duty_of(bell: Workbell, announced: list[int] | None = None) -> MatchEvents:
    said = [] if announced is None else announced
    return MatchEvents(bell.store, bell.registry, Subscriptions(lambda: bell.store), lambda _: said.append(1), 1.0)


class TestRuns:
    def test_a_run_for_each_trigger(self, bell: Workbell) -> None:
        one, other = hear(bell, "posts.*", retry=Retry(attempts=7)), hear(bell, "posts.created")
        hear(bell, "pages.*")
        event = bell.emit("posts.created", {"id": 7})
        look(bell.store, duty_of(bell))
        runs = {run.options.trigger: run for run in live(bell.store)}
        assert runs.keys() == {one.id, other.id}
        assert {match.subscriber: match.run for match in ledger(bell, event)} == {key: runs[key].id for key in runs}
        run = runs[one.id]
        assert (run.job, run.status, run.event, run.input_text) == ("work", Status.QUEUED, event.id, None)
        assert (run.retry.attempts, runs[other.id].options.retry) == (7, DEFAULT_RETRY)
        assert (run.created_at, run.scheduled_for) == (bell.store.clock.now(), bell.store.clock.now())
        assert bell.store.events.find([event.id])[event.id].fanned_out_at == bell.store.clock.now()

    def test_oldest_first(self, bell: Workbell, monkeypatch: pytest.MonkeyPatch) -> None:
        """Batch by batch, and the runs stand in line as the events came."""
        hear(bell, "*")
        events = stored(bell, *[f"number.n{number}" for number in range(7)])
        monkeypatch.setattr(module, "BATCH", 3)
        duty, done = duty_of(bell), list[list[str]]()
        while duty.fan_out_waiting(bell.store.clock.now()):
            waiting = {event.id for event in bell.store.events.waiting(100)}
            done.append([event.id for event in events if event.id not in waiting])
        ids = [event.id for event in events]
        assert done == [ids[:3], ids[:6], ids]
        assert [run.event for run in sorted(live(bell.store), key=lambda run: run.id)] == ids

    def test_many_runs_go_in_several_transactions(self, bell: Workbell, monkeypatch: pytest.MonkeyPatch) -> None:
        for number in range(3):
            hear(bell, "*", name=f"t{number}")
        stored(bell, *["some.thing"] * 5)
        monkeypatch.setattr(module, "MOST_RUNS", 7)
        sound, sizes = bell.store.events.fan_out, list[int]()

        def counted(fanned: Sequence[FannedOut], now: datetime) -> set[str]:
            sizes.append(sum(len(one.runs) for one in fanned))
            return sound(fanned, now)

        monkeypatch.setattr(bell.store.events, "fan_out", counted)
        look(bell.store, duty_of(bell))
        assert sizes == [6, 6, 3]
        assert len(live(bell.store)) == 15

    def test_nobody_hears(self, bell: Workbell) -> None:
        event = bell.emit("posts.created")
        said: list[int] = []
        look(bell.store, duty_of(bell, said))
        assert (ledger(bell, event), said, live(bell.store)) == ([], [], [])
        assert bell.store.events.waiting(9) == []

    def test_each_tenant_hears_its_own(self, bell: Workbell) -> None:
        mine, theirs = hear(bell, "*"), hear(bell, "*", tenant="other")
        (here,) = stored(bell, "posts.created")
        (there,) = stored(bell, "posts.created", tenant="other")
        look(bell.store, duty_of(bell))
        assert fates(bell, here) == {(mine.id, MatchOutcome.STARTED)}
        assert fates(bell, there) == {(theirs.id, MatchOutcome.STARTED)}
        assert {(run.tenant, run.event) for run in live(bell.store)} == {("default", here.id), ("other", there.id)}

    def test_stars_do_not_hear_of_workbells_own(self, bell: Workbell) -> None:
        named, _ = hear(bell, "job.*"), hear(bell, "*")
        hear(bell, "*.failed", name="any")
        (event,) = stored(bell, "job.failed", system=True, source=SYSTEM_SOURCE)
        look(bell.store, duty_of(bell))
        assert fates(bell, event) == {(named.id, MatchOutcome.STARTED)}


class TestLanes:
    def test_the_queue_is_the_jobs(self, bell: Workbell) -> None:
        @bell.job(queue="paper")
        def print_out() -> None: ...

        hear(bell, "posts.*", job="print_out")
        bell.store.jobs.put(bell.registry.declared_jobs(bell.store.clock, "default"))
        stored(bell, "posts.created")
        look(bell.store, duty_of(bell))
        stored(bell, "posts.created")
        look(bell.store)  # by a scheduler that knows the job from the store alone
        assert [run.queue for run in live(bell.store)] == ["paper"] * 2

    def test_a_job_that_nobody_knows(self, bell: Workbell) -> None:
        """Its run waits, as any run waits for a worker that knows its job; others are not held up."""
        hear(bell, "posts.*", job="unheard_of")
        known = hear(bell, "posts.*", name="known")
        (event,) = stored(bell, "posts.created")
        look(bell.store, duty_of(bell))
        assert {(run.job, run.queue, run.status) for run in live(bell.store)} == {
            ("unheard_of", "default", Status.QUEUED),
            ("work", "default", Status.QUEUED),
        }
        assert (known.id, MatchOutcome.STARTED) in fates(bell, event)

    def test_limits_without_a_key(self, bell: Workbell) -> None:
        @bell.job(concurrency=2)
        def alone() -> None: ...

        hear(bell, "posts.*", job="alone")
        stored(bell, "posts.created")
        look(bell.store, duty_of(bell))
        (run,) = live(bell.store)
        assert run.lane == alone.enqueue().lane

    def test_limits_by_a_key(self, bell: Workbell) -> None:
        """An event is not in the input: its runs count as those do that leave the argument out."""

        @bell.job(concurrency=1, concurrency_key="user")
        def by_user(user: str | None = None) -> None: ...

        hear(bell, "posts.*", job="by_user")
        stored(bell, "posts.created", "posts.deleted", data_text='{"user":"ann"}')
        look(bell.store, duty_of(bell))
        lanes = {run.lane for run in live(bell.store)}
        assert lanes == {by_user.enqueue().lane}
        assert lanes != {by_user.enqueue(user="ann").lane}


class TestEndpoints:
    def test_two_patterns_one_delivery(self, bell: Workbell) -> None:
        endpoint = receive(bell, "posts.*", "*.created", "pages.**")
        (event,) = stored(bell, "posts.created")
        look(bell.store, duty_of(bell))
        (run,) = live(bell.store)
        assert fates(bell, event) == {(endpoint.id, MatchOutcome.STARTED)}
        assert (run.job, run.queue, run.event, run.input) == (
            DELIVERY,
            DELIVERY_QUEUE,
            event.id,
            {"endpoint": endpoint.id},
        )

    def test_each_in_its_own_lane(self, bell: Workbell) -> None:
        one, other, started = receive(bell, "*"), receive(bell, "posts.*"), hear(bell, "*")
        (event,) = stored(bell, "posts.created")
        look(bell.store, duty_of(bell))
        assert fates(bell, event) == {(each.id, MatchOutcome.STARTED) for each in (one, other, started)}
        keys = {run.lane.key for run in live(bell.store) if run.job == DELIVERY}
        assert keys == {one.id, other.id}


class TestNothingIsStarted:
    def test_disabled(self, bell: Workbell) -> None:
        """C5: that it matched while it was disabled is on record."""
        off, on = hear(bell, "posts.*", enabled=False), hear(bell, "*")
        failing = receive(bell, "*", enabled=False, reason="10 attempts in a row have failed")
        (event,) = stored(bell, "posts.created")
        look(bell.store, duty_of(bell))
        found = {match.subscriber: (match.outcome, match.run, match.reason) for match in ledger(bell, event)}
        (run,) = live(bell.store)
        assert found == {
            off.id: (MatchOutcome.DISABLED, None, "it was disabled"),
            failing.id: (MatchOutcome.DISABLED, None, "10 attempts in a row have failed"),
            on.id: (MatchOutcome.STARTED, run.id, None),
        }

    def test_enabled_again(self, bell: Workbell) -> None:
        """What it missed it has missed; it hears of what is fanned out from now on."""
        made = hear(bell, "posts.*", enabled=False)
        duty = duty_of(bell)
        (missed,) = stored(bell, "posts.created")
        look(bell.store, duty)
        bell.store.subscribers.write_trigger(msgspec.structs.replace(made, enabled=True), made.version)
        (heard,) = stored(bell, "posts.created")
        look(bell.store, duty)
        assert (fates(bell, missed), fates(bell, heard)) == (
            {(made.id, MatchOutcome.DISABLED)},
            {(made.id, MatchOutcome.STARTED)},
        )

    def test_too_deep(self, bell: Workbell, caplog: pytest.LogCaptureFixture) -> None:
        """A7: a chain of events that cause each other is cut, and the ledger says where and why."""
        one, other = hear(bell, "posts.*"), receive(bell, "*")
        (last,) = stored(bell, "posts.created", depth=DEPTH_LIMIT - 1)
        (deep,) = stored(bell, "posts.created", depth=DEPTH_LIMIT)
        look(bell.store, duty_of(bell))
        assert fates(bell, last) == {(one.id, MatchOutcome.STARTED), (other.id, MatchOutcome.STARTED)}
        assert fates(bell, deep) == {(one.id, MatchOutcome.TOO_DEEP), (other.id, MatchOutcome.TOO_DEEP)}
        assert {run.options.depth for run in live(bell.store)} == {DEPTH_LIMIT - 1}
        assert {match.reason for match in ledger(bell, deep)} == {
            "8 events lie behind this one, each the cause of the next; the limit is 8"
        }
        (line,) = [record.getMessage() for record in caplog.records if record.name == "workbell.events"]
        assert deep.id in line
        assert "2 triggers" in line


class TestBroken:
    def test_a_type_that_is_none(self, bell: Workbell) -> None:
        """It is heard of by nobody, and does not hold up those behind it."""
        every = hear(bell, "*")
        broken = stored(bell, "", ".", "posts..created", "posts.cré", "posts.*", "a" * 300, "a." * 40 + "a")
        (sound,) = stored(bell, "posts.created")
        look(bell.store, duty_of(bell))
        assert [fates(bell, event) for event in broken] == [set()] * 7
        assert fates(bell, sound) == {(every.id, MatchOutcome.STARTED)}
        assert bell.store.events.waiting(9) == []

    def test_a_pattern_that_is_none(self, bell: Workbell, caplog: pytest.LogCaptureFixture) -> None:
        broken = hear(bell, "posts.**.created")
        sound, half = hear(bell, "posts.*"), receive(bell, "..", "posts.created")
        (event,) = stored(bell, "posts.created")
        look(bell.store, duty_of(bell))
        assert fates(bell, event) == {(sound.id, MatchOutcome.STARTED), (half.id, MatchOutcome.STARTED)}
        assert f"{broken.id} receives no events" in caplog.text

    def test_one_that_the_store_refuses(
        self, bell: Workbell, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        """It goes on waiting, with its reason in the log; all others are written."""
        hear(bell, "*")
        events = stored(bell, *["some.thing"] * 5)
        refused, sound = events[2].id, bell.store.events.fan_out

        def refuse(fanned: Sequence[FannedOut], now: datetime) -> set[str]:
            if any(one.event_id == refused for one in fanned):
                raise StoreError("no such lane")
            return sound(fanned, now)

        monkeypatch.setattr(bell.store.events, "fan_out", refuse)
        duty, now = duty_of(bell), bell.store.clock.now()
        assert duty.step(now) == 0
        assert duty.step(now) == 1  # and not again and again
        assert [event.id for event in bell.store.events.waiting(9)] == [refused]
        assert len(live(bell.store)) == 4
        assert f"event {refused}: what follows from it cannot be written: no such lane" in caplog.text
        monkeypatch.undo()
        assert duty.step(now + timedelta(seconds=1)) == 0
        assert len(live(bell.store)) == 5

    def test_no_store(self, bell: Workbell, monkeypatch: pytest.MonkeyPatch) -> None:
        """Nothing is tried one by one against a store that is not there."""
        hear(bell, "*")
        stored(bell, *["some.thing"] * 3)
        tries: list[int] = []

        def gone(fanned: Sequence[FannedOut], now: datetime) -> set[str]:
            tries.append(len(fanned))
            raise StoreUnavailable("away")

        monkeypatch.setattr(bell.store.events, "fan_out", gone)
        with pytest.raises(StoreUnavailable):
            duty_of(bell).step(bell.store.clock.now())
        assert tries == [3]
        monkeypatch.undo()
        look(bell.store, duty_of(bell))
        assert len(live(bell.store)) == 3

    def test_a_refused_event_that_another_scheduler_fans_out_is_forgotten(
        self, bell: Workbell, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        hear(bell, "a.b")
        (event,) = stored(bell, "a.b")
        duty, sound = duty_of(bell), bell.store.events.fan_out

        def refuse(fanned: Sequence[FannedOut], now: datetime) -> set[str]:
            raise StoreError("no such lane")

        with monkeypatch.context() as broken:
            broken.setattr(bell.store.events, "fan_out", refuse)
            duty.fan_out_waiting(bell.store.clock.now())
        assert duty._refused == {event.id}
        assert sound([FannedOut(event.id, (), ())], bell.store.clock.now()) == {event.id}
        duty.fan_out_waiting(bell.store.clock.now())
        assert duty._refused == set()


@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)
class TestStep:
    """How long until the next look. That is the duty's alone: one store is enough."""

    def test_at_once_while_there_is_something(self, bell: Workbell) -> None:
        said: list[int] = []
        duty, now = duty_of(bell, said), bell.store.clock.now()
        hear(bell, "*")
        assert duty.step(now) == 1
        stored(bell, "some.thing")
        assert duty.step(now) == 1  # nobody said anything
        assert duty.step(now + timedelta(seconds=0.4)) == pytest.approx(0.6)
        assert duty.step(now + timedelta(seconds=1)) == 0
        assert (len(live(bell.store)), said) == (1, [1])
        assert duty.step(now + timedelta(seconds=1)) == 1
        assert said == [1]

    def test_soon_after_a_hint(self, bell: Workbell) -> None:
        duty, now = duty_of(bell), bell.store.clock.now()
        assert duty.step(now) == 1
        duty.hint()
        wait = duty.step(now)
        assert 0 < wait <= GAP
        duty.hint()  # the next one does not put it off
        assert duty.step(now + timedelta(seconds=wait / 2)) == pytest.approx(wait / 2)
        stored(bell, "some.thing")
        assert duty.step(now + timedelta(seconds=wait)) == 0

    def test_a_clock_that_is_put_back_does_not_stop_it(self, bell: Workbell) -> None:
        duty, now = duty_of(bell), bell.store.clock.now()
        duty.step(now)
        stored(bell, "some.thing")
        assert duty.step(now - DAY) == 0
        assert bell.store.events.waiting(1) == []

    def test_beaten_by_another_scheduler(self, bell: Workbell, monkeypatch: pytest.MonkeyPatch) -> None:
        """It comes back soon, for what the other may leave; and announces nothing that is not its own."""
        said: list[int] = []
        hear(bell, "*")
        duty, other, now = duty_of(bell, said), scheduler(bell.store), bell.store.clock.now()
        stored(bell, "some.thing", "some.other")
        sound = bell.store.events.fan_out

        def overtaken(fanned: Sequence[FannedOut], at: datetime) -> set[str]:
            monkeypatch.setattr(bell.store.events, "fan_out", sound)
            look(bell.store, other)
            return sound(fanned, at)

        monkeypatch.setattr(bell.store.events, "fan_out", overtaken)
        assert duty.step(now) == pytest.approx(GAP)
        assert (said, len(live(bell.store))) == ([], 2)
        assert duty.step(now + timedelta(seconds=GAP)) == 1

    def test_what_is_not_to_be_had_is_passed_over(self, bell: Workbell, monkeypatch: pytest.MonkeyPatch) -> None:
        """A whole batch is in the hands of a scheduler that is stuck: those behind it are fanned out all the same."""
        hear(bell, "*")
        duty, now = duty_of(bell), bell.store.clock.now()
        events = [event.id for event in stored(bell, *["some.thing"] * 8)]
        held, sound = set(events[:4]), bell.store.events.fan_out
        monkeypatch.setattr(module, "BATCH", 3)

        def stuck(fanned: Sequence[FannedOut], at: datetime) -> set[str]:
            return sound([one for one in fanned if one.event_id not in held], at)

        monkeypatch.setattr(bell.store.events, "fan_out", stuck)
        steps = []
        while not steps or steps[-1] == 0:
            steps.append(duty.step(now))
        assert steps[-1] == pytest.approx(GAP)
        assert len(steps) < 9
        assert [event.id for event in bell.store.events.waiting(9)] == events[:4]
        held.clear()
        now += timedelta(seconds=GAP)
        assert [duty.step(now) for _ in range(3)] == [0, 0, 1]
        assert len(live(bell.store)) == 8

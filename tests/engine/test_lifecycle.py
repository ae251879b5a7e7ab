"""Lifecycle events (A7, C2): stored with the very move they tell of, once, and only where somebody subscribes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import msgspec
import pytest

from tests.support.bench import Bench
from tests.support.scheduling import set_clock
from tests.support.subscribing import stored, subscribe
from tests.unit.makers import worker_of
from workbell import Cancel, Retry, Run, Status
from workbell.engine.missing_workers import RECENT, MissingWorkers
from workbell.engine.work import Work
from workbell.errors import StoreError, StoreUnavailable
from workbell.model import state
from workbell.model.clock import ManualClock
from workbell.model.ids import new_id
from workbell.model.job import DELIVERY
from workbell.model.outcome import Returned
from workbell.model.run import Lane, NewRun
from workbell.model.state import CRASH_LIMIT, Transition
from workbell.model.worker import LOST_AFTER, alias_of
from workbell.notices.listeners import LifecycleEvent, about_chain
from workbell.stores.port import Store


def make_bench(store: Store | None = None) -> Bench:
    if store is not None:
        set_clock(store, ManualClock())
    bench = Bench(store)

    @bench.bell.job(retry=Retry(attempts=2, delay=0, jitter=0))
    def work(how: str = "") -> object:
        if how == "fail":
            raise ValueError("no")
        return Cancel("had enough") if how == "cancel" else None

    return bench


@pytest.fixture
def bench() -> Bench:
    return make_bench()


def types(store: Store, tenant: str = "default") -> list[str]:
    return [event.type for event in stored(store, tenant=tenant)]


def live_through_it(bench: Bench) -> None:
    """One of each: success, failure, cancellation before and while it runs, expiry, and a lost worker."""
    for how in ("", "fail", "cancel"):
        bench.bell.enqueue("work", {"how": how})
    while bench.work():
        pass
    bench.bell.cancel(bench.bell.enqueue("work").id)
    bench.bell.enqueue("work", expires=5)
    bench.clock.advance(6)
    bench.recover.step(bench.clock.now())
    bench.bell.enqueue("work")
    assert bench.claim()
    bench.lapse()


class TestSubscribed:
    @pytest.mark.parametrize("pattern", [None, "*", "**", "*.completed", "jobs.*", "webhook.disabled"])
    def test_nothing_is_stored_where_nobody_subscribes(self, bench: Bench, pattern: str | None) -> None:
        if pattern is not None:
            subscribe(bench.store, pattern)
        bench.publisher.poll()
        live_through_it(bench)
        assert types(bench.store) == []

    def test_each_move_tells_once_on_every_store(self, store: Store) -> None:
        bench = make_bench(store)
        for pattern in ("job.*", "job.completed", "run.canceled", "worker.**"):  # two for one type are one event
            subscribe(store, pattern)
        bench.publisher.poll()
        live_through_it(bench)
        assert sorted(types(store)) == [
            "job.completed",
            "job.failed",
            "run.canceled",
            "run.canceled",
            "run.canceled",
            "worker.lost",
        ]
        reasons = {event.data["reason"] for event in stored(store, "run.canceled")}
        assert reasons == {"had enough", "canceled on request", "expired"}
        (failed,) = stored(store, "job.failed")
        assert (failed.data["attempt"], failed.depth, failed.system, failed.source) == (2, 1, True, "/workbell")
        assert failed.data["error"].startswith("ValueError: no")
        assert bench.run(failed.data["run_id"]).status is Status.FAILED

    def test_only_the_types_that_are_heard(self, bench: Bench) -> None:
        subscribe(bench.store, "job.failed")
        bench.publisher.poll()
        live_through_it(bench)
        assert types(bench.store) == ["job.failed"]

    def test_the_end_of_a_chain(self, bench: Bench) -> None:
        """B8: with the last failure, and once."""
        subscribe(bench.store, "run.chain_ended")
        bench.publisher.poll()
        bench.bell.runtime.reschedules = 1
        bench.bell.enqueue("work", {"how": "fail"}, auto_reschedule=60)
        for _ in range(4):
            while bench.work():
                pass
            bench.clock.advance(60)
        (event,) = stored(bench.store)
        last = bench.bell.runs()[0]
        assert (event.type, event.subject) == ("run.chain_ended", last.id)
        told = event.data
        assert (told["run_id"], told["reason"]) == (last.id, "error; the last run of its chain")
        assert "ValueError: no" in told["error"]

    def test_a_run_that_crashes_is_the_last_of_its_chain(self, bench: Bench) -> None:
        """B8: however many were left. Before, such a chain ended without a word."""
        run = bench.bell.enqueue("work", auto_reschedule=60)
        crashed = msgspec.structs.replace(run, status=Status.RUNNING, attempt=3, token=3, crashes=2)
        change = state.crash(crashed, bench.clock.now(), keep=bench.keep.other, how="was killed")
        told = about_chain(change.move, change.after(crashed))
        assert told is not None
        assert (told.type, told.reason, change.then) == ("run.chain_ended", "crashed", ())
        plain = msgspec.structs.replace(crashed, options_text=None)
        assert about_chain(change.move, change.after(plain)) is None

    def test_a_disabled_trigger_counts(self, bench: Bench) -> None:
        subscribe(bench.store, "job.completed", enabled=False)
        bench.publisher.poll()
        bench.bell.enqueue("work")
        bench.work()
        assert types(bench.store) == ["job.completed"]

    def test_in_the_tenant_of_the_run(self, bench: Bench) -> None:
        subscribe(bench.store, "job.*", tenant="acme")
        bench.publisher.poll()
        acme = bench.bell.for_tenant("acme")
        run = acme.enqueue("work")
        bench.bell.enqueue("work")
        for work in bench.claim():
            bench.book(work, bench.call(work))
        assert types(bench.store) == []
        assert [event.data["run_id"] for event in stored(bench.store, tenant="acme")] == [run.id]

    def test_who_subscribes_no_longer(self, bench: Bench) -> None:
        trigger = subscribe(bench.store, "job.*")
        bench.publisher.poll()
        assert bench.publisher.events.anything
        bench.store.subscribers.delete_trigger(trigger.id)
        bench.publisher.poll()
        assert not bench.publisher.events.anything

    def test_deliveries_tell_nothing(self, bench: Bench) -> None:
        """Each would be followed by one that tells of it."""
        subscribe(bench.store, "job.*")
        subscribe(bench.store, "run.*")
        bench.publisher.poll()
        now = bench.clock.now()
        made = bench.bell.enqueue("work")
        delivery = msgspec.structs.replace(made, id=made.id[:-4] + "ffff", lane=Lane("default", "default", DELIVERY))
        bench.store.runs.add([NewRun(delivery)])
        for work in bench.claim():
            bench.book(work, Returned(None))
        assert [event.data["name"] for event in stored(bench.store)] == ["work"]
        waiting = msgspec.structs.replace(delivery, id=made.id[:-4] + "fffe", created_at=now)
        bench.store.runs.add([NewRun(waiting)])
        assert bench.bell.cancel(waiting.id).status is Status.CANCELED
        assert types(bench.store) == ["job.completed"]


class TestExactly:
    """With the move, once, or not at all."""

    def claimed(self, bench: Bench) -> tuple[Run, Work]:
        subscribe(bench.store, "job.*")
        bench.publisher.poll()
        run = bench.bell.enqueue("work")
        (work,) = bench.claim()
        return run, work

    def test_a_lost_lease_tells_nothing(self, sqlite_store: Store) -> None:
        store = sqlite_store
        bench = make_bench(store)
        _, work = self.claimed(bench)
        outcome = bench.call(work)
        bench.lapse()
        bench.book(work, outcome)
        assert bench.dropped == [work]
        assert types(store) == []

    def test_an_answer_that_was_lost(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        """The write went through, and nobody said so: written again, there is one event."""
        bench = make_bench(store)
        run, work = self.claimed(bench)
        sound, calls = store.runs.apply, list[int]()

        def shaky(changes: Sequence[Transition]) -> set[str]:
            moved = sound(changes)
            calls.append(len(moved))
            if len(calls) == 1:
                raise StoreUnavailable("the connection was lost")
            return moved

        monkeypatch.setattr(store.runs, "apply", shaky)
        with pytest.raises(StoreUnavailable):
            bench.book(work, bench.call(work))
        bench.finish.step(bench.clock.now())
        assert (calls, bench.booked) == ([1, 0], [work])
        assert types(store) == ["job.completed"]
        assert bench.run(run).status is Status.SUCCEEDED

    def test_the_same_transition_twice(self, sqlite_store: Store) -> None:
        store = sqlite_store
        bench = make_bench(store)
        run, work = self.claimed(bench)
        bench.book(work, bench.call(work))
        change = bench.written[0][1]
        assert len(change.emits) == 1
        assert store.runs.apply([change]) == set()
        again = msgspec.structs.replace(change.emits[0], id=new_id())
        assert store.events.add([again])[0].created is False, "its key is taken"
        assert [event.cause for event in stored(store)] == [run.id]

    def test_rather_untold_than_unbooked(self, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        run, work = self.claimed(bench)
        sound = bench.store.runs.apply

        def without_events(changes: Sequence[Transition]) -> set[str]:
            if any(change.emits for change in changes):
                raise StoreError("this event cannot be stored")
            return sound(changes)

        monkeypatch.setattr(bench.store.runs, "apply", without_events)
        bench.book(work, bench.call(work))
        assert bench.run(run).status is Status.SUCCEEDED
        assert types(bench.store) == []

    def test_what_cannot_be_stored_is_told_as_a_failure(self, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        run, work = self.claimed(bench)
        sound = bench.store.runs.apply

        def without_results(changes: Sequence[Transition]) -> set[str]:
            if any(change.result_text for change in changes):
                raise StoreError("this result cannot be stored")
            return sound(changes)

        monkeypatch.setattr(bench.store.runs, "apply", without_results)
        bench.book(work, Returned('"odd"'))
        assert bench.run(run).status is Status.FAILED
        assert types(bench.store) == ["job.failed"]


class TestLostWorkers:
    def test_one_event_a_worker_and_tenant(self, store: Store) -> None:
        bench = make_bench(store)
        other = Bench(store, name="other/1/2/b")
        other.bell.registry.add(next(job for job in bench.bell.registry if job.name == "work"))
        subscribe(store, "worker.lost")
        subscribe(store, "worker.lost", tenant="acme")
        bench.publisher.poll()
        ours = bench.bell.enqueue_many([("work", {})] * 3)
        assert len(other.claim()) == 3
        theirs = bench.bell.for_tenant("acme").enqueue("work")
        assert len(bench.claim()) == 1
        bench.lapse()
        (event,) = stored(store)
        assert (event.data["worker"], event.data["host"]) == ("other/1/2/b", "other")
        assert sorted(event.data["runs"]) == sorted(run.id for run in ours)
        (event,) = stored(store, tenant="acme")
        assert (event.data["worker"], event.data["runs"]) == (alias_of("worker"), [theirs.id])
        other.held.by_id.clear()
        assert len(other.claim()) == 4  # lost again: it is the same worker, of which was told
        bench.lapse()
        assert len(stored(store)) == 1

    def test_an_idle_one_is_told_of_too(self, bench: Bench) -> None:
        """And to a tenant whose runs it did not hold; but once to each, and not before the sweep has its runs."""
        heard: list[LifecycleEvent] = []
        bench.bell.listen("worker.lost", heard.append)
        missing = MissingWorkers(bench.store, bench.booking.publisher)
        now = bench.clock.now()
        bench.store.workers.put(worker_of(id="long/1/1/a", now=now - RECENT - timedelta(seconds=1)))
        for name in ("idle/1/1/a", "worker"):
            bench.store.workers.put(worker_of(id=name, now=now))
        missing.step(now)
        subscribe(bench.store, "worker.lost")
        subscribe(bench.store, "worker.lost", tenant="acme")
        bench.publisher.poll()
        run = bench.bell.enqueue("work")
        bench.claim()
        bench.clock.advance(LOST_AFTER.total_seconds() + 1)
        missing.step(bench.clock.now())
        for _ in range(2):
            missing.step(bench.clock.now())
            assert [event.data["worker"] for event in stored(bench.store)] == ["idle/1/1/a"]
        bench.lapse()
        for _ in range(2):
            missing.step(bench.clock.now())
        found = [(event.data["worker"], event.data.get("runs")) for event in stored(bench.store)]
        assert sorted(found) == [("idle/1/1/a", None), ("worker", [run.id])]
        aliases = sorted(alias_of(worker) for worker in ("idle/1/1/a", "worker"))
        assert sorted(event.data["worker"] for event in stored(bench.store, tenant="acme")) == aliases
        assert [event.worker for event in heard] == ["idle/1/1/a", "worker"]

    def test_other_tenants_do_not_learn_the_host(self, store: Store) -> None:
        """Neither by the event of the loss nor by the run's error; the tenant of the program learns both."""
        bench = make_bench(store)
        other = Bench(store, name="secret-host/471147114711/i")
        other.bell.registry.add(next(job for job in bench.bell.registry if job.name == "work"))
        bench.store.workers.put(worker_of(id="secret-host/471247124712/i", now=bench.clock.now()))
        missing = MissingWorkers(bench.store, bench.booking.publisher)
        missing.step(bench.clock.now())
        for tenant in ("default", "acme"):
            for pattern in ("worker.lost", "job.failed"):
                subscribe(store, pattern, tenant=tenant)
        bench.publisher.poll()
        runs = [bench.bell.for_tenant(tenant).enqueue("work") for tenant in ("default", "acme")]
        for _ in range(2 * CRASH_LIMIT):  # suspects are claimed one at a time
            other.held.by_id.clear()
            for work in other.claim():
                store.runs.mark_alone(work.held)
            bench.lapse()
        bench.clock.advance(LOST_AFTER.total_seconds() + 1)
        for _ in range(3):
            missing.step(bench.clock.now())
        ours, theirs = (stored(store, tenant=tenant) for tenant in ("default", "acme"))
        assert sorted(event.type for event in ours) == ["job.failed", "worker.lost", "worker.lost"]
        assert sorted(event.type for event in theirs) == ["job.failed", "worker.lost", "worker.lost"]
        assert "secret-host" in str([event.as_dict() for event in ours])
        assert {event.data.get("host") for event in theirs} == {None}
        about = [[event.cloud_event() for event in theirs], [event.as_dict() for event in theirs]]
        for run in runs:
            attempts = bench.bell.for_tenant(run.tenant).attempts(run.id)
            about += [bench.bell.for_tenant(run.tenant).get(run.id).error, [attempt.error for attempt in attempts]]
            assert {attempt.worker for attempt in attempts} == {"secret-host/471147114711/i"}, "where operators find it"
        for fact in ("secret-host", "471147114711", "471247124712"):  # too long to be in an id by chance
            assert fact not in str(about)

    def test_other_tenants_do_not_learn_the_files_of_jobs(self, bench: Bench) -> None:
        bench.publisher.events.describe = lambda run: ("jobs/work.py", "0 3 * * *")
        for tenant in ("default", "acme"):
            subscribe(bench.store, "job.*", tenant=tenant)
        bench.publisher.poll()
        for tenant in ("default", "acme"):
            bench.bell.for_tenant(tenant).enqueue("work")
        works = bench.claim()
        bench.publisher.started([work.run for work in works])
        for work in works:
            bench.book(work, Returned(None))
        for tenant, known in (("default", ("jobs/work.py", "0 3 * * *")), ("acme", (None, None))):
            events = stored(bench.store, tenant=tenant)
            assert sorted(event.type for event in events) == ["job.completed", "job.started"]
            assert {(event.data.get("file_path"), event.data.get("schedule")) for event in events} == {known}

    def test_who_could_not_be_seen_is_not_lost(self, bench: Bench) -> None:
        """The store was away for longer than it takes to be lost: of all that look again, this one is the first."""
        told: list[LifecycleEvent] = []
        bench.bell.listen("worker.lost", told.append)
        missing = MissingWorkers(bench.store, bench.publisher)
        bench.store.workers.put(worker_of(id="idle/1/1/a", now=bench.clock.now()))
        missing.step(bench.clock.now())
        for _ in range(2):
            bench.clock.advance(LOST_AFTER.total_seconds() + 1)
            missing.step(bench.clock.now())
            bench.store.workers.see(["idle/1/1/a"], bench.clock.now())
        assert told == []

    def test_set_aside_as_crashed(self, bench: Bench) -> None:
        subscribe(bench.store, "job.failed")
        bench.publisher.poll()
        run = bench.bell.enqueue("work")
        for _ in range(CRASH_LIMIT):
            assert types(bench.store) == []
            bench.held.by_id.clear()
            (work,) = bench.claim()
            bench.store.runs.mark_alone(work.held)
            bench.lapse()
        (event,) = stored(bench.store)
        assert (event.data["run_id"], event.data["attempt"]) == (run.id, CRASH_LIMIT)
        assert "stopped renewing its lease" in event.data["error"]

    def test_an_expired_run_is_no_loss(self, bench: Bench) -> None:
        subscribe(bench.store, "worker.lost")
        bench.publisher.poll()
        bench.bell.enqueue("work", expires=timedelta(seconds=1))
        bench.clock.advance(2)
        bench.recover.step(bench.clock.now())
        assert types(bench.store) == []

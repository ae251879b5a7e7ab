"""Alerts and pings: one for each run that ends, whoever ends it, decided by the write that ends it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from tests.support.bench import Bench
from tests.support.fresh_store import fresh_store
from tests.support.webhook_scene import Scene
from workbell import Cancel, Retry, Run, Status, Workbell
from workbell.errors import StoreError
from workbell.events.alerting import CACHED_FOR, Alerting, with_alerts
from workbell.model import state
from workbell.model.alert import AlertKind, Watched
from workbell.model.job import ALERT
from workbell.model.outcome import Died, Raised, Returned
from workbell.model.state import CRASH_LIMIT
from workbell.scheduling.request import request_for
from workbell.settings import Settings
from workbell.stores.port import Filter, Store
from workbell.testing import drain
from workbell.workers.keeper import Keeper
from workbell.workers.messages import Bury, DeathVerdict, StoreNamed

ALERTS = "https://hooks.slack.com/services/T000/B000/SECRET"
PINGS = "https://hc-ping.com/11111111-SECRET"
ONCE = Retry(attempts=1)
ERROR = Raised(ValueError("bad"))


def told(store: Store, tenant: str | None = None) -> list[tuple[str, str]]:
    """Which runs were told of, and how, in the order of their making."""
    runs = store.runs.list(Filter(tenant, job=ALERT))
    return [(run.input["run"], run.input["kind"]) for run in reversed(runs)]


@pytest.fixture
def bench() -> Bench:
    bench = Bench()
    bench.bell.job(name="watched", alert_url=ALERTS, ping_url=PINGS, retry=ONCE)(lambda: None)
    bench.bell.job(name="plain", retry=ONCE)(lambda: None)
    bench.bell.job(name="tried", alert_url=ALERTS, retry=Retry(attempts=2))(lambda: None)
    return bench


class TestEnds:
    """Which ends are told of."""

    def end(self, bench: Bench, job: str, outcome: Any) -> Run:
        run = bench.bell.enqueue(job)
        (work,) = [work for work in bench.claim() if work.run.job == job]
        work.started_at = bench.clock.now()
        bench.finish.put(work, outcome)
        while bench.finish.step(bench.clock.now()) == 0:
            pass
        return run

    def test_a_failure_is_alerted_and_pinged_once(self, bench: Bench) -> None:
        run = self.end(bench, "watched", ERROR)
        assert told(bench.store) == [(run.id, "alert"), (run.id, "ping")]
        bench.finish.step(bench.clock.now())
        assert len(told(bench.store)) == 2

    def test_a_success_is_pinged(self, bench: Bench) -> None:
        run = self.end(bench, "watched", Returned("1"))
        assert told(bench.store) == [(run.id, "ping")]

    def test_a_job_without_urls_tells_nothing(self, bench: Bench) -> None:
        self.end(bench, "plain", ERROR)
        self.end(bench, "plain", Returned(None))
        assert told(bench.store) == []

    def test_a_schedule_alone_may_ask_for_it(self, bench: Bench) -> None:
        """Of a job that has no URLs itself."""
        schedule = bench.bell.schedules.put("often", job="plain", every=60, ping_url=PINGS)
        now = bench.clock.now()
        new = request_for(schedule, now, now, bench.bell.runtime.maker)
        bench.store.runs.add([new])
        (work,) = bench.claim()
        bench.finish.put(work, Returned(None))
        bench.finish.step(now)
        assert told(bench.store) == [(new.run.id, "ping")]

    def test_a_retry_is_no_failure(self, bench: Bench) -> None:
        run = self.end(bench, "tried", ERROR)
        assert (bench.bell.get(run.id).status, told(bench.store)) == (Status.SCHEDULED, [])
        bench.clock.advance(60)
        bench.queue_due()
        (work,) = bench.claim()
        bench.finish.put(work, ERROR)
        bench.finish.step(bench.clock.now())
        assert told(bench.store) == [(run.id, "alert")]

    def test_a_canceled_run_is_neither(self, bench: Bench) -> None:
        run = bench.bell.enqueue("watched")
        bench.bell.cancel(run.id)
        assert told(bench.store) == []

    def test_an_end_that_is_not_written_tells_nothing(self, bench: Bench) -> None:
        bench.bell.enqueue("watched")
        (work,) = bench.claim()
        bench.lapse()
        bench.finish.put(work, ERROR)
        bench.finish.step(bench.clock.now())
        assert (told(bench.store), len(bench.dropped)) == ([], 1)

    def test_a_run_that_kills_its_workers_is_alerted_by_who_recovers_it(self, bench: Bench) -> None:
        """Also in a process that does not know the job: by what the store says of it."""
        bench.store.jobs.put(bench.bell.registry.declared_jobs(bench.clock, "default"))
        run = bench.bell.enqueue("watched")
        other = Bench(bench.store, name="other")
        for death in range(CRASH_LIMIT + 1):
            assert told(bench.store) == [], f"after {death} deaths"
            bench.held.by_id.clear()
            for work in bench.claim():
                bench.store.runs.mark_alone(work.held)
            other.lapse()
            other.recover.step(bench.clock.now())
            if bench.bell.get(run.id).status is Status.FAILED:
                break
        assert bench.bell.get(run.id).reason == "crashed"
        assert told(bench.store) == [(run.id, "alert"), (run.id, "ping")]

    def test_a_process_of_its_own_that_dies_too_often(self, bench: Bench) -> None:
        run = bench.bell.enqueue("watched")
        for death in range(CRASH_LIMIT):
            assert told(bench.store) == [], f"after {death} deaths"
            (work,) = bench.claim()
            bench.finish.put(work, Died("was killed"))
            bench.finish.step(bench.clock.now())
        assert told(bench.store) == [(run.id, "alert"), (run.id, "ping")]

    def test_one_whose_alert_cannot_be_stored_is_booked_all_the_same(
        self, bench: Bench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        apply = bench.store.runs.apply

        def refuse(changes: Any) -> set[str]:
            if any(change.then for change in changes):
                raise StoreError("no room")
            return apply(changes)

        monkeypatch.setattr(bench.store.runs, "apply", refuse)
        run = self.end(bench, "watched", ERROR)
        assert (bench.bell.get(run.id).status, told(bench.store)) == (Status.FAILED, [])


class TestKeeper:
    def test_a_run_whose_time_is_over_is_alerted_by_the_keeper(self, sqlite_url: str) -> None:
        """The keeper has no jobs of its own, and the run may be another tenant's: the program's own row says it."""
        with Workbell(sqlite_url, tenant="home") as bell:
            bell.job(name="stuck", alert_url=ALERTS, retry=ONCE)(lambda: None)
            bell.store.check()
            bell.store.jobs.put(bell.registry.declared_jobs(bell.store.clock, "home"))
            for tenant in ("home", "guest"):
                bell.for_tenant(tenant).enqueue("stuck")
            works = Bench(bell.store, name="box/1/2/a")
            works.consume._claimant = works.consume._claimant._replace(serves=lambda _lane: True)
            works.bell.registry.replace(list(bell.registry), ())
            ids = [work.run.id for work in works.claim()]
            keeper = Keeper(StoreNamed(sqlite_url, 30.0, 60.0, 60.0, "home"), None)  # type: ignore[arg-type]
            try:
                for _ in range(2):
                    keeper._bury(Bury("box/1/2/a", "was killed", DeathVerdict.INNOCENT, [], ids))
            finally:
                keeper._store.close()
            assert {bell.store.runs.find([run])[run].reason for run in ids} == {"timeout"}
            assert sorted(told(bell.store)) == sorted((run, "alert") for run in ids)
            counted = {(one.tenant, one.status): one.count for one in bell.store.tallies.totals()}
            assert counted == {("home", "failed"): 1, ("guest", "failed"): 1}


class TestSchedules:
    @pytest.fixture
    def scene(self) -> Iterator[Scene]:
        with Scene() as scene:
            yield scene

    def put(self, scene: Scene, **urls: str) -> Any:
        every = {"every": 60, "anchor": scene.clock.now(), "catch_up": "latest"}
        return scene.bell.schedules.put("often", job="send", **every, **urls)  # type: ignore[arg-type]

    def test_its_flags_go_with_its_runs(self, scene: Scene) -> None:
        scene.bell.job(name="send", retry=ONCE)(lambda: 1 / 0)
        self.put(scene, alert_url=ALERTS)
        sender = scene.pretend()
        scene.clock.advance(61)
        (run, alert) = scene.work()
        assert (run.options_text, run.options.alerts) == ('{"alerts":true}', True)
        assert [url for url, _ in sender.sent] == [ALERTS]
        again = scene.bell.retry(run.id)  # the schedule's too
        scene.work()
        assert told(scene.store) == [(run.id, "alert"), (again.id, "alert")]
        assert alert.input == {"run": run.id, "kind": "alert"}

    def test_it_comes_before_the_jobs(self, scene: Scene) -> None:
        scene.bell.job(name="send", retry=ONCE, alert_url="https://a.example.com/job")(lambda: 1 / 0)
        self.put(scene, alert_url=ALERTS, ping_url=PINGS)
        sender = scene.pretend()
        scene.clock.advance(61)
        scene.work()
        (failed,) = scene.bell.runs(job="send")
        assert sorted(url for url, _ in sender.sent) == [f"{PINGS}/fail?rid={failed.id}", ALERTS]

    def test_one_that_is_gone_leaves_it_to_the_job(self, scene: Scene) -> None:
        scene.bell.job(name="send", retry=ONCE)(lambda: 1 / 0)
        self.put(scene, alert_url=ALERTS)
        scene.clock.advance(61)
        sender = scene.pretend()
        sender.status = 500
        scene.work()
        scene.bell.schedules.delete("often")
        scene.clock.advance(3600)
        (alert,) = scene.work()
        assert (alert.status, alert.reason, len(sender.sent)) == (Status.CANCELED, "it has no URL any more", 1)


class TestPure:
    def test_what_workbell_does_itself_is_never_told_of(self) -> None:
        bench = Bench()
        bench.bell.job(name="watched", alert_url=ALERTS, retry=ONCE)(lambda: None)
        bench.bell.enqueue("watched")
        (work,) = bench.claim()
        now = bench.clock.now()
        failed = state.fail(work.run, now, error="E", reason="error", keep=timedelta(0))
        everything = Watched(alerts=True, pings=True)
        (alert, ping) = with_alerts(work.run, failed, everything).then
        assert [new.run.input["kind"] for new in (alert, ping)] == [AlertKind.ALERT, AlertKind.PING]
        running = msgspec.structs.replace(alert.run, status=Status.RUNNING)
        late = state.fail(running, now, error="E", reason="error", keep=timedelta(0))
        assert with_alerts(running, late, everything) is late

    def test_a_job_that_is_not_known_here_is_asked_for_now_and_then(self) -> None:
        """As of agents, whose runs end in a process without their code."""
        bench = Bench()
        bench.bell.job(name="watched", ping_url=PINGS)(lambda: None)
        bench.bell.enqueue("watched")
        (work,) = bench.claim()
        change = state.succeed(work.run, bench.clock.now(), result=None, keep=timedelta(0))
        alerting = Alerting(lambda: bench.store)
        assert alerting.of(work.run, change).then == ()
        bench.store.jobs.put(bench.bell.registry.declared_jobs(bench.clock, "default"))
        assert alerting.of(work.run, change).then == ()
        bench.clock.advance(CACHED_FOR)
        assert len(alerting.of(work.run, change).then) == 1

    def test_a_handler_that_cancels_itself_tells_nothing(self) -> None:
        store = fresh_store()
        bell = Workbell(store=store, settings=Settings())
        bell.job(name="watched", alert_url=ALERTS, ping_url=PINGS)(lambda: Cancel("enough"))
        bell.enqueue("watched")
        (run,) = drain(bell)
        assert (run.status, told(store)) == (Status.CANCELED, [])

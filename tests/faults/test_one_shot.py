"""One-shot calls that are killed, doubled and called at once: nothing is lost, and nothing done twice (D5, D6)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.support.checker import check, report, snapshot
from tests.support.processes import Site, kill
from tests.support.waiting import until
from tests.support.worker_app import declare
from workbell import Answer, Status, Workbell
from workbell.model.run import LIVE, AttemptStatus

SITES = 3
RUNS = 60
ROUNDS = 150


@pytest.mark.timeout(110)
def test_a_consumer_is_killed(tmp_path: Path, sql_store_url: str) -> None:
    """Its run goes back to the queue by the next dispatch after the end of its lease, and is executed by another."""
    with Site(tmp_path, sql_store_url) as site, Workbell(sql_store_url) as bell:
        declare(bell, site.recorder, site.gates)
        run = bell.enqueue("held_plain", {"gate": "open"})
        site.open_gate("go")
        consumer = site.start("consume")
        site.await_start(run.id)
        assert bell.dispatch().recovered == 0, "a lease that is renewed is nobody else's"
        kill(consumer)
        site.open_gate("open")
        until(lambda: bell.dispatch().recovered, "its lease to end", 60)
        assert bell.get(run.id).status is Status.QUEUED
        consumed = bell.consume(runs=[run.id])
        assert [(one.answer, one.status) for one in consumed.results] == [(Answer.DONE, Status.SUCCEEDED)]
        assert [attempt.status for attempt in bell.attempts(run.id)] == [AttemptStatus.LOST, AttemptStatus.SUCCEEDED]
        violations = check(bell.store, site.events())
        assert not violations, report(violations)


@pytest.mark.timeout(110)
def test_several_consumers_of_the_same_messages(tmp_path: Path, sql_store_url: str) -> None:
    """Exactly one of them executes each run; of the others each answers that it ignores it, or is to be asked again."""
    with Site(tmp_path, sql_store_url) as site, Workbell(sql_store_url) as bell:
        declare(bell, site.recorder, site.gates)
        ids = [run.id for run in bell.enqueue_many([("short_plain", {"number": number}) for number in range(RUNS)])]
        consumers = [site.start("consume", *ids) for _ in range(SITES)]
        site.await_ready(*consumers)
        site.open_gate("go")
        until(lambda: len(_answers(site)) == SITES, "all of them to end", 60)
        done = Counter(run for told in _answers(site) for run, answer in told if answer == Answer.DONE)
        assert done == Counter(ids)
        assert Counter(event["run"] for event in site.starts()) == Counter(ids)
        assert {answer for told in _answers(site) for _, answer in told} <= {*Answer}
        violations = check(bell.store, site.events())
        assert not violations, report(violations)


def _answers(site: Site) -> list[list[tuple[str, str]]]:
    return [event["answers"] for event in site.events() if event["kind"] == "consumed"]


@pytest.mark.timeout(110)
@pytest.mark.parametrize("engine", [False, True], ids=["alone", "beside an engine"])
def test_dispatchers_at_once(tmp_path: Path, sql_store_url: str, engine: bool) -> None:
    """Each tick is fired once, and each delayed run queued once, however many dispatch at the same moment."""
    with Site(tmp_path, sql_store_url) as site, Workbell(sql_store_url) as bell:
        declare(bell, site.recorder, site.gates)
        dispatchers = [site.start("dispatch", str(ROUNDS)) for _ in range(SITES)]
        site.await_ready(*dispatchers, *([site.worker()] if engine else []))
        names = [f"s{number}" for number in range(10)]
        for name in names:
            bell.schedules.put(name, job="quick_plain", cron="* * * * * *", overlap="allow", catch_up="all")
        delayed = bell.enqueue_many([bell.request("quick_plain", delay=number / 100) for number in range(100)])
        site.open_gate("go")
        until(lambda: len(_rounds(site)) == SITES * ROUNDS, "all rounds", 60)
        bell.dispatch()
        fired = sum(event["fired"] for event in _rounds(site))
        assert engine or fired >= len(names), "no tick was due: the test proves nothing"
        if engine:
            for name in names:
                bell.schedules.pause(name)
            until(lambda: not bell.runs(status=LIVE, limit=1), "every run to end", 60)
            assert Counter(event["run"] for event in site.starts()).most_common(1)[0][1] == 1
        ticks = [tick for name in names for tick in bell.schedules.ticks(name)]
        runs = [run for run in snapshot(bell.store).runs if run.schedule is not None]
        slots = Counter((run.schedule, run.scheduled_for) for run in runs)
        assert len(slots) == len(runs) == len(ticks)
        assert {bell.get(run.id).status for run in delayed} == {Status.SUCCEEDED if engine else Status.QUEUED}
        assert sum(event["queued"] for event in _rounds(site)) <= len(delayed)
        violations = check(bell.store, site.events(), settled=False)
        assert not violations, report(violations)


def _rounds(site: Site) -> list[dict[str, int]]:
    return [event for event in site.events() if event["kind"] == "dispatched"]

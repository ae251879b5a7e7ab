"""Capability: a run that no living worker can take waits, and a line a minute says so."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any

import pytest

from tests.support.fresh_store import fresh_store
from tests.unit.makers import worker_of
from workbell import Workbell
from workbell.engine import unserved_runs as unserved
from workbell.engine.unserved_runs import UnservedRuns
from workbell.model.worker import LOST_AFTER
from workbell.settings import Settings
from workbell.stores.port import Store


def register(store: Store, *jobs: str, **fields: Any) -> None:
    store.workers.put(worker_of(*jobs, now=store.clock.now(), **fields))


def enqueue(store: Store, job: str, times: int = 1, **options: Any) -> None:
    bell = Workbell(store=store, settings=Settings())
    function = bell.job(name=job)(lambda: None)
    for _ in range(times):
        function.options(**options).enqueue()


def told(store: Store, caplog: pytest.LogCaptureFixture, later: timedelta = timedelta(0)) -> list[str]:
    """What is logged at a look."""
    caplog.clear()
    duty, now = UnservedRuns(store), store.clock.now() + later
    assert duty.step(now) == unserved.FIRST_CHECK
    assert not caplog.records, "workers that start together have a moment to make themselves known"
    assert duty.step(now) == unserved.PAUSE
    assert {record.levelno for record in caplog.records} <= {logging.WARNING}
    return [record.getMessage() for record in caplog.records]


def test_what_nobody_takes(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    enqueue(store, "known")
    enqueue(store, "unknown", 3, queue="mail")
    enqueue(store, "unknown", 2, queue="mail", tenant="other")
    assert told(store, caplog) == [
        "5 runs wait of job 'unknown' in queue 'mail': No worker is running; start one: `workbell start`.",
        "1 run waits of job 'known' in queue 'default': No worker is running; start one: `workbell start`.",
    ]
    register(store, "known")
    (line,) = told(store, caplog)
    assert line.startswith("5 runs wait of job 'unknown' in queue 'mail': 1 worker is running, and it does not know")
    assert (caplog.records[0].queued, caplog.records[0].job, caplog.records[0].queue) == (5, "unknown", "mail")
    register(store, "unknown", id="b", queues=("mail",))
    assert told(store, caplog) == []
    register(store, "unknown", id="b", queues=("other",))
    assert "none that knows job 'unknown' serves queue 'mail'" in told(store, caplog)[0]
    register(store, "unknown", id="b", stopping=True)
    assert "will stop; start another" in told(store, caplog)[0]
    assert len(told(store, caplog, LOST_AFTER + timedelta(seconds=1))) == 2, "the lost do not count"


def test_nothing_waits(store: Store, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """Paused and scheduled runs are not missed; and where all is well, runs are not even counted."""
    enqueue(store, "later", delay=60)
    enqueue(store, "served")
    register(store, "served")
    monkeypatch.setattr(store.reports, "counts", lambda: pytest.fail("counting is dear"))
    assert told(store, caplog) == []


def test_what_is_paused_waits_for_another_reason(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    enqueue(store, "paused")
    Workbell(store=store, settings=Settings()).pause(job="paused")
    assert told(store, caplog) == []
    enqueue(store, "paused", 2, tenant="other")
    (line,) = told(store, caplog)
    assert line.startswith("2 runs wait of job 'paused'"), "those of the other tenant are not paused"


def test_ten_warnings_at_most(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unserved, "PAGE", 4)
    with Workbell(store=fresh_store(), settings=Settings()) as bell:
        for number in range(13):
            enqueue(bell.store, f"job{number}")
        lines = told(bell.store, caplog)
    assert len(lines) == 11
    assert lines[-1] == "and so do runs of 3 more jobs; `workbell doctor` names them"


def test_definitions_of_one_name_are_counted_by_tenant(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    """Workers have the handler of one tenant's; one that is disabled waits because somebody wanted it."""
    register(store, "email")
    for tenant, handler, times in (("default", "email", 3), ("other", "sms", 1), ("third", "sms", 1)):
        bell = Workbell(store=store, settings=Settings(tenant=tenant))
        bell.jobs.put("email-eu", handler=handler)
        for _ in range(times):
            bell.enqueue("email-eu")
    bell.jobs.disable("email-eu")
    (line,) = told(store, caplog)
    assert line.startswith("1 run waits of job 'email-eu' in queue 'default': Its handler is job 'sms'. 1 worker is ")

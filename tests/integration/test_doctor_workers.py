"""`workbell doctor` on workers: who lives, who was lost and with what, and which runs nobody takes."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.client.conftest import take
from tests.support.inside.cli import examine
from tests.support.inside.features import Finding
from tests.support.inside.values import WORKER_LOST_AFTER as LOST_AFTER
from tests.unit.makers import worker_of
from workbell import Workbell


def findings(url: str, *what: str) -> list[tuple[str, str]]:
    found: list[Finding] = examine(url).findings
    return [(finding.level, finding.text) for finding in found if finding.what in what]


@pytest.fixture
def bell(sql_store_url: str):
    with Workbell(sql_store_url) as bell:
        bell.store.check()
        yield bell


def test_the_living_and_the_lost(bell: Workbell, sql_store_url: str) -> None:
    assert findings(sql_store_url, "workers", "lost worker") == [
        ("note", "none is running; start one: `workbell start`.")
    ]
    now = bell.store.clock.now()
    bell.store.workers.put(worker_of("a", now=now, id="h1/a", host="h1"))
    bell.store.workers.put(worker_of("a", now=now, id="h2/b", host="h2", stopping=True))
    assert findings(sql_store_url, "workers", "lost worker") == [
        ("ok", "2 alive on 2 machines, 20 slots, 1 of them stopping")
    ]
    long_ago = now - timedelta(days=2)
    bell.store.workers.put(worker_of(now=now, id="w1", seen_at=now - LOST_AFTER - timedelta(minutes=9)))
    bell.store.workers.put(worker_of(now=now, id="forgotten", seen_at=long_ago))  # and it left nothing
    bell.job(name="a")(lambda: None).enqueue()
    assert take(bell)[0].worker == "w1"
    ((level, text),) = findings(sql_store_url, "lost worker")
    assert level == "note"
    assert text == "w1 was last seen 10 min ago; it still holds 1 run, which others take up when the leases end."
    bell.store.workers.put(worker_of(now=now, id="w1", seen_at=long_ago))
    ((_, text),) = findings(sql_store_url, "lost worker")
    assert "it still holds 1 run" in text


def test_what_nobody_takes(bell: Workbell, sql_store_url: str) -> None:
    now = bell.store.clock.now()
    known, unknown = bell.job(name="known")(lambda: None), bell.job(name="unknown")(lambda: None)
    known.enqueue()
    unknown.options(queue="mail").enqueue()
    unknown.options(queue="mail").enqueue()
    unknown.options(tenant="other").enqueue()
    bell.store.workers.put(worker_of("known", now=now))
    reason = "1 worker is running, and it does not know job 'unknown'"
    assert findings(sql_store_url, "unserved") == [
        (
            "risk",
            f"queue mail, job unknown: 2 queued runs, and nobody takes them. {reason} (queue 'mail'); "
            "start one that does.",
        ),
        (
            "risk",
            f"queue default, job unknown, tenant other: 1 queued run, and nobody takes them. {reason} "
            "(queue 'default'); start one that does.",
        ),
    ]
    bell.store.workers.put(worker_of("unknown", now=now, id="b"))
    assert findings(sql_store_url, "unserved") == []

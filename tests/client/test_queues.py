"""Queues of a tenant: what waits and runs in each, since when, and what is paused (F5)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.client.conftest import take
from tests.support.inside.features import queue_verbs as queues
from tests.support.inside.stores import reports
from tests.support.inside.values import PausedJob, QueueScale, QueueState, Scale
from tests.support.scheduling import set_clock
from workbell import Workbell
from workbell.testing import ManualClock

NOTHING: dict[str, Any] = {
    "capped": (),
    "scheduled": 0,
    "queued": 0,
    "running": 0,
    "oldest_wait_seconds": 0.0,
    "paused": False,
    "paused_since": None,
    "paused_jobs": (),
}


@pytest.fixture(autouse=True)
def clock(bell: Workbell) -> ManualClock:
    clock = ManualClock()
    set_clock(bell.store, clock)
    return clock


@pytest.mark.anyio
async def test_queues_by_name(bell: Workbell, send: Any, clock: ManualClock) -> None:
    send.enqueue("a")
    (running,) = take(bell)
    assert running.queue == "mail"
    send.enqueue("b")
    clock.advance(seconds=7)
    send.enqueue("c")
    send.options(delay=timedelta(hours=1)).enqueue("d")
    bell.enqueue("send", {"to": "x"}, queue="apart")
    bell.for_tenant("other").enqueue("send", {"to": "x"}, queue="theirs")
    since = clock.now()
    bell.pause(queue="mail", job="other")
    bell.pause(queue="shut")
    clock.advance(seconds=3)
    busy = {"scheduled": 1, "queued": 2, "running": 1, "oldest_wait_seconds": 10.0}
    expected = [
        QueueState(**NOTHING | {"name": "apart", "queued": 1, "oldest_wait_seconds": 3.0}),
        QueueState(**NOTHING | busy | {"name": "mail", "paused_jobs": (PausedJob(job="other", paused_since=since),)}),
        QueueState(**NOTHING | {"name": "shut", "paused": True, "paused_since": since}),
    ]
    assert [one for one in bell.queues.list() if one.name != "default"] == expected
    assert await bell.queues.alist() == bell.queues.list()


@pytest.mark.parametrize("paused", [{"queue": "mail"}, {"queue": "mail", "job": "send"}, {"job": "send"}])
def test_runs_that_are_paused_are_not_late(
    bell: Workbell, send: Any, clock: ManualClock, paused: dict[str, str]
) -> None:
    """Somebody holds them back on purpose: the oldest wait is that of runs that may start."""
    send.enqueue("a")
    clock.advance(seconds=600)
    bell.job(name="note")(lambda: None)
    bell.enqueue("note", queue="mail")
    clock.advance(seconds=20)
    bell.pause(**paused)
    (mail,) = [one for one in bell.queues.list() if one.name == "mail"]
    assert (mail.queued, mail.oldest_wait_seconds) == (2, 0.0 if mail.paused else 20.0)
    bell.resume(**paused)
    assert [one.oldest_wait_seconds for one in bell.queues.list() if one.name == "mail"] == [620.0]


def test_runs_of_a_disabled_definition_are_not_late(bell: Workbell, send: Any, clock: ManualClock) -> None:
    bell.jobs.put("archive", handler=send.name, queue="mail")
    bell.enqueue("archive", {"to": "a"})
    clock.advance(seconds=600)
    send.enqueue("a")
    clock.advance(seconds=20)

    def mail() -> tuple[Any, ...]:
        (state,) = [one for one in bell.queues.list() if one.name == "mail"]
        scale = bell.queues.scale(["mail"]).queues["mail"]
        return state.queued, state.oldest_wait_seconds, scale.due_seconds, scale.wanted

    assert mail() == (2, 620.0, 620.0, 2)
    bell.jobs.disable("archive")
    assert mail() == (2, 20.0, 20.0, 1)
    other = bell.for_tenant("b")
    other.jobs.put("archive", handler=send.name, queue="mail")
    other.enqueue("archive", {"to": "a"})
    clock.advance(seconds=7)
    assert [one.oldest_wait_seconds for one in other.queues.list() if one.name == "mail"] == [7.0], "theirs is enabled"


def test_a_queue_is_listed_for_a_declared_job(bell: Workbell, send: Any) -> None:
    del send
    assert QueueState(name="mail", **NOTHING) in bell.queues.list()
    assert QueueState(name="mail", **NOTHING) in bell.for_tenant("other").queues.list()


def test_a_number_that_is_no_more_than_counted_says_so(
    bell: Workbell, send: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reports, "QUEUED", 2)
    for to in ("a", "b", "c"):
        send.enqueue(to)
    (mail,) = [one for one in bell.queues.list() if one.name == "mail"]
    assert (mail.queued, mail.capped) == (2, ("queued",))


def test_no_other_tenant_is_read(bell: Workbell, send: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    send.enqueue("a")
    counts, asked = bell.store.reports.counts, []

    def noted(*tenant: str) -> Any:
        asked.append(tenant)
        return counts(*tenant)

    monkeypatch.setattr(bell.store.reports, "counts", noted)
    theirs = {one.name: one.queued for one in bell.for_tenant("other").queues.list()}
    assert (theirs["mail"], asked) == (0, [("other",)])


@pytest.mark.anyio
async def test_scale(bell: Workbell, send: Any, clock: ManualClock) -> None:
    """Queued and running runs that workers can take; a pause or an agent's target wants none."""
    for to in ("a", "b", "c"):
        send.enqueue(to)
    take(bell, 1)
    bell.enqueue("send", {"to": "x"}, queue="shut")
    bell.enqueue("send", {"to": "x"}, queue="aimed", target="press")
    send.options(delay=timedelta(hours=1)).enqueue("later")
    bell.for_tenant("other").enqueue("send", {"to": "x"}, queue="mail")
    bell.pause(queue="shut")
    clock.advance(seconds=7)
    mail = QueueScale(queued=2, running=1, due_seconds=7.0, wanted=3)
    shut, none = QueueScale(queued=1), QueueScale()

    asked = ["mail", "shut", "aimed", "unknown"]
    total = QueueScale(queued=3, running=1, due_seconds=7.0, wanted=3)
    wanted = Scale(queues={"mail": mail, "shut": shut, "aimed": none, "unknown": none}, total=total)
    assert bell.queues.scale(asked) == wanted
    assert await bell.queues.ascale(asked) == wanted
    assert bell.queues.scale(["unknown"]) == Scale(queues={"unknown": none}, total=none)
    every = bell.queues.scale()
    assert every.total == total
    assert {name: load for name, load in every.queues.items() if load.queued} == {"mail": mail, "shut": shut}
    others = bell.for_tenant("other").queues.scale(["mail"])
    assert others.queues == {"mail": QueueScale(queued=1, due_seconds=7.0, wanted=1)}


def test_scale_of_all_has_the_queues_that_want_most(
    bell: Workbell, send: Any, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names of queues are free; the total counts every one."""
    monkeypatch.setattr(queues, "MOST_SHOWN", 3)
    bell.enqueue("send", {"to": "x"}, queue="oldest")
    clock.advance(seconds=7)
    for name in ("a", "b", "c", "d", "shut", "shut", "deep", "deep"):
        bell.enqueue("send", {"to": "x"}, queue=name)
    bell.pause(queue="shut")
    every = bell.queues.scale()
    assert [(name, load.wanted) for name, load in every.queues.items()] == [("a", 1), ("b", 1), ("deep", 2)]
    assert every.total == QueueScale(queued=9, running=0, due_seconds=7.0, wanted=7)
    asked = ["oldest", "a", "b", "shut"]
    assert [*bell.queues.scale(asked).queues] == asked


def test_scale_counts_up_to_a_limit(bell: Workbell, send: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queues, "MOST_COUNTED", 2)
    for to in ("a", "b", "c"):
        send.enqueue(to)
    assert bell.queues.scale(["mail"]).queues["mail"].wanted == 2

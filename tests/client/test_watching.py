"""Looking on: logs, workers, and a run until it has ended (F6)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.client.conftest import finish, take
from tests.support.inside.making import after
from tests.support.inside.stores import Held
from tests.support.inside.values import LogLine
from tests.support.waiting import until
from tests.unit.makers import worker_of
from workbell import InvalidOption, RunNotFound, Status, Workbell


def test_logs_in_pages(bell: Workbell, send: Any) -> None:
    send.enqueue("x")
    (run,) = take(bell)
    lines = [LogLine(run.id, 1, number, after(number), "INFO", f"line {number}") for number in range(5)]
    bell.store.logs.add([(run.token, line) for line in lines])
    assert bell.logs(run.id) == lines
    assert bell.logs(run.id, limit=2) == lines[:2]
    assert bell.logs(run.id, after=lines[1], limit=2) == lines[2:4]
    assert bell.logs(run.id, after=lines[4]) == []
    with pytest.raises(InvalidOption, match="limit: 0"):
        bell.logs(run.id, limit=0)


def test_logs_of_nobody_else(bell: Workbell, send: Any) -> None:
    run = send.enqueue("x")
    assert bell.logs(run.id) == []
    with pytest.raises(RunNotFound):
        bell.for_tenant("other").logs(run.id)
    with pytest.raises(RunNotFound):
        bell.logs("no-such-run")


def test_a_run_is_watched_until_its_end(bell: Workbell, send: Any) -> None:
    waiting = send.enqueue("x")
    seen = []
    for run in bell.watch(waiting.id, pace=0.01):
        seen.append((run.status, (run.progress or {}).get("done")))
        if run.status is Status.QUEUED:
            (taken,) = take(bell)
        elif run.progress is None:
            bell.store.runs.set_progress(Held(taken.id, taken.token), '{"done":1}')
        elif not run.status.final:
            finish(bell, taken)
    assert seen == [("queued", None), ("running", None), ("running", 1), ("succeeded", 1)]


@pytest.mark.anyio
async def test_a_run_is_watched_by_async_code(bell: Workbell, send: Any) -> None:
    waiting = await send.aenqueue("x")
    seen = []
    async for run in bell.awatch(waiting.id, pace=0.01):
        seen.append(run.status)
        if run.status is Status.QUEUED:
            (taken,) = take(bell)
            now = bell.store.clock.now()
            bell.store.runs.renew([Held(taken.id, taken.token)], now=now, lease_until=now + timedelta(seconds=60))
        elif not run.status.final:
            finish(bell, taken)
    assert seen == ["queued", "running", "succeeded"]
    with pytest.raises(RunNotFound):
        await anext(bell.awatch("no-such-run"))
    with pytest.raises(InvalidOption, match="pace"):
        await anext(bell.runs.awatch(waiting.id, pace=0))


def test_a_renewed_lease_is_no_news(bell: Workbell, send: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = send.enqueue("x")
    (taken,) = take(bell)
    looked = 0
    real = bell.store.runs.find

    def find(ids: Any) -> Any:
        nonlocal looked
        looked += 1
        now = bell.store.clock.now()
        if looked < 5:
            bell.store.runs.renew([Held(taken.id, taken.token)], now=now, lease_until=now + timedelta(seconds=looked))
        else:
            finish(bell, taken)
        return real(ids)

    monkeypatch.setattr(bell.store.runs, "find", find)
    assert [run.status for run in bell.watch(waiting.id, pace=0.01)] == ["running", "succeeded"]
    assert looked == 5


def test_watching_what_is_not_there(bell: Workbell) -> None:
    with pytest.raises(RunNotFound):
        next(bell.watch("no-such-run"))
    with pytest.raises(InvalidOption, match="pace"):
        next(bell.watch("no-such-run", pace=0))
    assert until(lambda: bell.workers() == [], "no workers")


def test_workers_are_listed_with_the_runs_of_the_tenant(
    bell: Workbell, send: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of what they run for others, only the number is read."""
    other = bell.for_tenant("other")
    theirs = [other.enqueue("send", {"to": "x"}) for _ in range(2)]
    own = send.enqueue("x")
    assert {run.id for run in take(bell)} == {own.id, *(run.id for run in theirs)}
    bell.store.workers.put(worker_of("send", now=bell.store.clock.now(), id="w1"))
    bell.store.workers.put(worker_of("send", now=bell.store.clock.now(), id="w2"))
    read, listed = bell.store.runs.list, []

    def noted(wanted: Any) -> Any:
        listed.append(wanted.tenant)
        return read(wanted)

    monkeypatch.setattr(bell.store.runs, "list", noted)
    seen = {one.worker.id: (one.busy, [run.id for run in one.runs]) for one in bell.workers()}
    assert seen == {"w1": (3, [own.id]), "w2": (0, [])}
    assert [(one.busy, len(one.runs)) for one in other.workers()] == [(3, 2), (0, 0)]
    assert listed == ["default", "other"]

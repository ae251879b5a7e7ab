"""Threads of an engine: few, and a slow step of housekeeping costs no lease, no run and no tick."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.support.waiting import until
from workbell import Status, Workbell
from workbell.errors import StoreUnavailable
from workbell.settings import Settings

pytestmark = pytest.mark.anyio

MOST = 9  # threads of an engine that schedules and works, and has nothing to do


@pytest.fixture
def bell(tmp_path: Path) -> Iterator[Workbell]:
    url = f"sqlite:///{tmp_path}/engine.db"
    with Workbell(settings=Settings(url=url, lease=1.0, poll=0.05, sweep=0.1, grace=5)) as bell:
        yield bell


def ours() -> set[str]:
    """The threads of engines and stores; those on which verbs of async callers wait are not an engine's."""
    names = [thread.name for thread in threading.enumerate() if thread.name.startswith("workbell-")]
    return {name for name in names if not name.startswith("workbell-call")}


async def test_an_idle_engine_has_few_threads(bell: Workbell) -> None:
    before = ours()
    async with bell.running():
        await asyncio.to_thread(until, bell.workers, "the worker")
        names = ours() - before
        assert len(names) <= MOST, sorted(names)
        assert {"workbell-consume", "workbell-finish", "workbell-renew", "workbell-housekeeping"} <= names
    assert ours() - before == set()


@pytest.mark.parametrize("hanging", ["leases", "tidy"])
async def test_a_step_that_hangs_costs_no_lease(bell: Workbell, monkeypatch: pytest.MonkeyPatch, hanging: str) -> None:
    """The store does not answer one of its calls: leases are renewed, runs executed and booked, ticks fired."""
    inside, go = threading.Event(), threading.Event()
    subject: Any = bell.store if hanging == "tidy" else bell.store.runs

    def hang(*_: object) -> Any:
        inside.set()
        go.wait(60)
        raise StoreUnavailable("it does not answer")

    begun, end = asyncio.Event(), asyncio.Event()

    @bell.job
    async def long() -> str:
        begun.set()
        await end.wait()
        return "done"

    @bell.job
    def short() -> int:
        return 1

    monkeypatch.setattr(subject, hanging, hang)
    try:
        async with bell.running(concurrency=2):
            await asyncio.to_thread(inside.wait, 30)
            run = await long.aenqueue()
            await asyncio.wait_for(begun.wait(), 30)
            first = (await bell.aget(run.id)).lease_until
            assert first is not None

            def is_renewed() -> bool:
                until = bell.get(run.id).lease_until
                return until is not None and until > first + timedelta(seconds=bell.settings.lease)

            await asyncio.to_thread(until, is_renewed, "the lease to be renewed beyond its first end")
            assert (await bell.await_((await short.aenqueue()).id, timeout=30)).result == 1
            delayed = await short.options(delay=0.1).aenqueue()
            assert (await bell.await_(delayed.id, timeout=30)).result == 1
            bell.schedules.put("often", job="short", every=1)
            await asyncio.to_thread(until, lambda: bell.runs(job="short", status="succeeded")[2:], "a tick")
            end.set()
            ended = await bell.await_(run.id, timeout=30)
            assert (ended.status, ended.attempt, ended.result) == (Status.SUCCEEDED, 1, "done")
            assert not go.is_set()
            go.set()
    finally:
        go.set()

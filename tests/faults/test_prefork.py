"""Prefork servers, such as gunicorn with `--preload`: a parent imports the application, and forks its web processes.

The application of these tests has a Workbell that touched the store while it was imported, which is the worst of it.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from types import ModuleType

import pytest

from tests.faults.test_fork import forked
from tests.support.waiting import until
from workbell import StoreError, Workbell

APP = """
from workbell import Workbell

bell = Workbell()


@bell.job
def charge(order: int) -> int:
    return order


first = charge.enqueue(-1)
"""
PROCESSES = 3
ORDERS = 10  # that each process takes


@pytest.fixture
def shop(sql_store_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The application, imported by the parent."""
    (tmp_path / "preloaded_shop.py").write_text(APP, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("WORKBELL_URL", sql_store_url)
    module = importlib.import_module("preloaded_shop")
    yield module
    module.bell.close()
    del sys.modules["preloaded_shop"]


def orders(bell: Workbell) -> list[int]:
    return sorted(run.input["order"] for run in bell.runs(limit=1000))


def take(shop: ModuleType, process: int) -> Callable[[], None]:
    """The requests that one web process answers."""

    def work() -> None:
        for number in range(ORDERS):
            run = shop.charge.enqueue(process * ORDERS + number)
            assert shop.bell.get(run.id).id == run.id

    return work


def test_each_process_enqueues_and_nothing_is_lost(shop: ModuleType) -> None:
    """Also through a reload (SIGHUP): new processes are forked while the old ones finish."""
    with ExitStack() as server:
        children = [server.enter_context(forked(take(shop, process))) for process in range(PROCESSES)]
        shop.charge.enqueue(-2)  # the parent, meanwhile
        children += [server.enter_context(forked(take(shop, process))) for process in range(PROCESSES, 2 * PROCESSES)]
    assert [child.status for child in children] == [0] * 2 * PROCESSES
    assert orders(shop.bell) == [-2, -1, *range(2 * PROCESSES * ORDERS)]


def test_a_schedule_fires_once_however_many_processes_run_an_engine(shop: ModuleType) -> None:
    """As with uvicorn's worker class and `bell.lifespan`: each process schedules and works."""
    bell: Workbell = shop.bell
    bell.cancel(shop.first.id)

    def web_process() -> None:
        async def serve() -> None:
            stopped = asyncio.Event()
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
            async with bell.running():
                await stopped.wait()

        asyncio.run(serve())

    with ExitStack() as server:
        children = []
        for _ in range(PROCESSES):
            children.append(server.enter_context(forked(web_process)))
            server.callback(os.kill, children[-1].pid, signal.SIGTERM)
        until(lambda: len(bell.workers()) == PROCESSES, "all of the engines")
        soon = bell.store.clock.now() + timedelta(seconds=0.2)
        bell.schedules.put("once", job="charge", at=soon, input={"order": 7})
        until(lambda: bell.runs(status="succeeded"), "the run of the schedule")
    assert [child.status for child in children] == [0] * PROCESSES
    assert [run.result for run in bell.runs(status="succeeded")] == [7]
    assert [tick.outcome.value for tick in bell.schedules.ticks("once")] == ["fired"]


@pytest.mark.parametrize("sql_store_url", ["sqlite"], indirect=True)
def test_an_engine_in_the_parent_is_refused_in_its_children(shop: ModuleType) -> None:
    """SQLite does not allow it; the message says so, and nothing is written by halves."""

    def child() -> None:
        with pytest.raises(StoreError, match="forked while its parent was using the file"):
            shop.charge.enqueue(1)

    async def parent() -> int:
        async with shop.bell.running():
            with forked(child) as pid:
                pass
            return pid.status

    assert asyncio.run(parent()) == 0
    assert orders(shop.bell) == [-1]

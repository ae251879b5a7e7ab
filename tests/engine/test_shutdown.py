"""`bell.engine.shutdown()` as a function: running handlers end, however long they take; nothing else begins (A9)."""

from __future__ import annotations

import asyncio
import importlib
import os
import threading
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.waiting import until
from workbell import InvalidOption, Status, Workbell
from workbell.engine.role import Role
from workbell.settings import Settings

SHOP = """
import asyncio, time
from pathlib import Path
from workbell import Workbell
from workbell.settings import Settings

GATE, BEGUN = Path("{folder}/gate"), Path("{folder}/begun")
bell = Workbell(settings=Settings(url="sqlite:///{folder}/shop.db", poll=0.05, grace=0.05, concurrency=1))

def note(number):
    with BEGUN.open("a") as begun:
        print(number, file=begun)

def wait_at_the_gate(number):
    note(number)
    while not GATE.exists():
        time.sleep(0.01)
    return "ended"

@bell.job
def plain(number: int): return wait_at_the_gate(number)

@bell.job
async def on_loop(number: int):
    note(number)
    while not GATE.exists():
        await asyncio.sleep(0.01)
    return "ended"

@bell.job(isolate="process")
def isolated(number: int): return wait_at_the_gate(number)
"""


class Shop:
    """An application whose handlers wait at a gate. Its setting `grace` is 50 ms, and one handler runs at a time."""

    def __init__(self, folder: Path, module: Any) -> None:
        self.bell: Workbell = module.bell
        self.gate: Path = module.GATE
        self._begun: Path = module.BEGUN

    @property
    def begun(self) -> list[str]:
        return self._begun.read_text().split() if self._begun.exists() else []

    async def hold(self, job: str) -> list[str]:
        """Ids of a run that is held at the gate, and of one that waits behind it."""
        ids = [(await self.bell.aenqueue(job, {"number": number})).id for number in range(2)]
        await asyncio.to_thread(until, lambda: self.begun, "the first handler to begin")
        return ids

    async def check_ended(self, ids: list[str]) -> None:
        held, behind = [await self.bell.aget(run_id) for run_id in ids]
        assert (held.status, held.result, held.attempt) == (Status.SUCCEEDED, "ended", 1)
        assert (behind.status, behind.attempt, self.begun) == (Status.QUEUED, 0, ["0"])

    async def check_handed_back(self, ids: list[str]) -> None:
        held, behind = [await self.bell.aget(run_id) for run_id in ids]
        assert (held.status, held.attempt, held.failures) == (Status.QUEUED, 1, 0)
        assert (behind.status, behind.attempt, self.begun) == (Status.QUEUED, 0, ["0"])


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    name = f"shop_{os.getpid()}_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(SHOP.format(folder=tmp_path))
    monkeypatch.syspath_prepend(tmp_path)
    shop = Shop(tmp_path, importlib.import_module(name))
    with shop.bell:
        yield shop
        shop.gate.touch()


def from_a_thread(bell: Workbell, **options: Any) -> Coroutine[Any, Any, None]:
    return asyncio.to_thread(bell.engine.shutdown, **options)


def on_the_loop(bell: Workbell, **options: Any) -> Coroutine[Any, Any, None]:
    return bell.engine.ashutdown(**options)


WAYS = [from_a_thread, on_the_loop]
KINDS = ["plain", "on_loop", "isolated"]
Way = Callable[..., Coroutine[Any, Any, None]]


async def wait_for_the_stop(bell: Workbell) -> None:
    """Until the engine has seen the call, and longer than the setting `grace`."""
    await asyncio.to_thread(until, lambda: bell.workers()[0].worker.stopping, "the stop to begin")
    await asyncio.sleep(0.2)


@pytest.mark.anyio
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
async def test_a_running_handler_ends_however_long_it_takes(shop: Shop, kind: str, way: Way) -> None:
    async with shop.bell.running():
        ids = await shop.hold(kind)
        stopping = asyncio.ensure_future(way(shop.bell))
        await wait_for_the_stop(shop.bell)
        assert not stopping.done()
        shop.gate.touch()
        await asyncio.wait_for(stopping, 30)
        await shop.check_ended(ids)


@pytest.mark.anyio
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
async def test_with_a_grace_it_is_handed_back(shop: Shop, kind: str, way: Way) -> None:
    async with shop.bell.running():
        ids = await shop.hold(kind)
        await asyncio.wait_for(way(shop.bell, grace=0.05), 30)
        await shop.check_handed_back(ids)


@pytest.mark.anyio
async def test_a_shorter_stop_cuts_one_that_waits(shop: Shop) -> None:
    """The application ends meanwhile: its handlers have the setting `grace`."""
    async with shop.bell.running():
        ids = await shop.hold("plain")
        stopping = asyncio.ensure_future(shop.bell.engine.ashutdown())
        await wait_for_the_stop(shop.bell)
    await asyncio.wait_for(stopping, 30)
    await shop.check_handed_back(ids)


@pytest.mark.anyio
@pytest.mark.parametrize("told", [False, True])
async def test_while_it_is_served(shop: Shop, told: bool) -> None:
    """`bell.run` ends with the engine. A first signal gives the setting `grace`, also to a stop that waits."""
    ends: list[Callable[[bool], object]] = []
    serving = asyncio.ensure_future(shop.bell.host.serve(Role(), lambda _engine, end: ends.append(end)))
    ids = await shop.hold("plain")
    stopping = asyncio.ensure_future(shop.bell.engine.ashutdown())
    await wait_for_the_stop(shop.bell)
    assert not serving.done()
    if told:
        ends[0](False)
    else:
        shop.gate.touch()
    await asyncio.wait_for(asyncio.gather(stopping, serving), 30)
    await (shop.check_handed_back(ids) if told else shop.check_ended(ids))


@pytest.mark.anyio
@pytest.mark.parametrize("kind", ["plain", "on_loop", "in_a_thread", "sync_on_loop"])
async def test_a_handler_may_call_it(sqlite_url: str, kind: str) -> None:
    """It does not wait for itself."""
    with Workbell(settings=Settings(url=sqlite_url, poll=0.05)) as bell:

        @bell.job
        def plain() -> None:
            bell.engine.shutdown()

        @bell.job
        async def on_loop() -> None:
            await bell.engine.ashutdown()

        @bell.job
        async def in_a_thread() -> None:
            await asyncio.to_thread(bell.engine.shutdown)

        @bell.job
        async def sync_on_loop() -> None:
            bell.engine.shutdown()

        run = await bell.aenqueue(kind)
        await asyncio.wait_for(bell.host.serve(Role(), lambda _engine, _end: None), 30)
        assert (await bell.aget(run.id)).status is Status.SUCCEEDED


@pytest.mark.anyio
async def test_a_claim_under_way_begins_nothing(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    called = threading.Event()
    claimed, go_on = threading.Event(), threading.Event()
    with Workbell(settings=Settings(url=sqlite_url, poll=0.05)) as bell:
        claim = type(bell.store.runs).claim

        def late(*args: Any, **options: Any) -> Any:
            taken = claim(*args, **options)
            if taken:
                claimed.set()
                assert go_on.wait(30)
            return taken

        monkeypatch.setattr(type(bell.store.runs), "claim", late)

        @bell.job
        def work() -> None:
            called.set()

        async with bell.running():
            run = await work.aenqueue()
            await asyncio.to_thread(claimed.wait, 30)
            stopping = asyncio.ensure_future(bell.engine.ashutdown())
            await asyncio.to_thread(until, lambda: bell.workers()[0].worker.stopping, "the stop to begin")
            go_on.set()
            await asyncio.wait_for(stopping, 30)
            back = await bell.aget(run.id)
            assert (back.status, back.attempt, called.is_set()) == (Status.QUEUED, 0, False)


@pytest.mark.parametrize("grace", [-1, float("nan"), "5"])
def test_a_grace_that_is_none_is_refused(shop: Shop, grace: Any) -> None:
    with pytest.raises(InvalidOption, match=r"^grace"):
        shop.bell.engine.shutdown(grace)
    with pytest.raises(InvalidOption, match=r"^grace"):
        shop.bell.shut_down(grace)


def test_without_an_engine(shop: Shop) -> None:
    shop.bell.engine.shutdown()
    assert not shop.bell.shut_down()

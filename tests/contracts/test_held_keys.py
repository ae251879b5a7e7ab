"""A key that a caller's open transaction holds (PostgreSQL): who asks for it waits, and nobody else does."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

import psycopg
import pytest

from tests.support.waiting import until
from workbell import Run, Status, Workbell
from workbell.app import open_store
from workbell.errors import StoreUnavailable
from workbell.model.run import Added
from workbell.stores import keyed_writes
from workbell.stores.port import Filter, Store
from workbell.stores.postgres import calls as calls_module
from workbell.testing.contracts.making import request
from workbell.testing.contracts.parts.events import fact, listed

SOON = 5.0  # seconds: the deadline for locks is three times as long
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
CROWD = 12  # callers at once: more than a pool has connections


class Scene:
    """A store, a transaction of a caller's own that holds keys, and threads for those who want something."""

    def __init__(self, url: str, threads: ThreadPoolExecutor) -> None:
        self.store = open_store(url)
        self.store.check()
        self.store.runs.add([request()])
        self.caller = psycopg.connect(url)
        self.looking = psycopg.connect(url, autocommit=True)
        self.threads = threads

    def hold(self, *keys: str) -> None:
        for key in keys:
            self.store.runs.add_on(self.caller, [request(key=key)])

    def wait_for_waiting(self, count: int = 1) -> None:
        until(lambda: (self.looking.execute(WAITING).fetchone() or (0,))[0] >= count, "somebody to wait for the lock")

    def add(self, **options: Any) -> Future[list[Added]]:
        return self.threads.submit(self.store.runs.add, [request(**options)])

    def emit(self, **options: Any) -> Future[list[Added]]:
        return self.threads.submit(self.store.events.add, [fact(**options)])

    def close(self) -> None:
        self.caller.rollback()
        for one in (self.caller, self.looking, self.store):
            one.close()


@pytest.fixture
def scene(postgres_url: str) -> Iterator[Scene]:
    with ThreadPoolExecutor(40) as threads:
        scene = Scene(postgres_url, threads)
        try:
            yield scene
        finally:
            scene.close()


def done(calls: list[Future[list[Added]]]) -> list[Added]:
    return [call.result(SOON)[0] for call in calls]


def test_a_held_key_holds_up_nobody_else(scene: Scene) -> None:
    scene.hold("held")
    blocked = scene.add(key="held")
    scene.wait_for_waiting()
    for step in range(3):
        others = [scene.add() for _ in range(CROWD)] + [scene.add(key=f"free {step} {n}") for n in range(CROWD)]
        assert all(added.created for added in done(others))
    assert not blocked.done()
    scene.caller.rollback()
    assert blocked.result(SOON)[0].created


def test_those_who_share_a_commit_with_it_are_not_held_up_either(scene: Scene) -> None:
    """All at once: the one that has to wait is in the midst of them."""
    scene.hold("held")
    calls = [scene.add(key="held" if n % 6 == 3 else f"free {n}") for n in range(3 * CROWD)]
    free, blocked = [call for n, call in enumerate(calls) if n % 6 != 3], calls[3::6]
    assert all(added.created for added in done(free))
    assert not any(call.done() for call in blocked)
    scene.caller.commit()
    assert [added.created for added in done(blocked)] == [False] * len(blocked)
    assert len({added.id for added in done(blocked)}) == 1


def test_a_held_key_of_an_event_holds_up_nobody_else(scene: Scene) -> None:
    scene.store.events.add_on(scene.caller, fact(key="held"))
    blocked = scene.emit(key="held")
    scene.wait_for_waiting()
    others = [scene.emit() for _ in range(CROWD)] + [scene.emit(key=f"free {n}") for n in range(CROWD)]
    others += [scene.add() for _ in range(CROWD)] + [scene.add(key=f"free {n}") for n in range(CROWD)]
    assert all(added.created for added in done(others))
    assert not blocked.done()
    scene.caller.commit()
    assert not blocked.result(SOON)[0].created


def test_many_who_wait_leave_connections_to_the_others(scene: Scene) -> None:
    """A crowd for one key, and for several: all of them together wait on a few connections."""
    keys = [f"held {n}" for n in range(6)]
    scene.hold(*keys)
    blocked = [scene.add(key=keys[n % len(keys)]) for n in range(2 * CROWD)]
    scene.wait_for_waiting()
    for _ in range(3):
        others = [scene.add() for _ in range(4)] + [scene.add(key=f"free {n}") for n in range(4)]
        done(others)
        assert scene.store.runs.find(["00000000-0000-0000-0000-000000000000"]) == {}
    assert not any(call.done() for call in blocked)
    scene.caller.rollback()
    made = [call.result(20)[0] for call in blocked]
    assert sum(added.created for added in made) == len({added.id for added in made}) == len(keys)


@pytest.mark.parametrize("kind", ["run", "event"])
def test_who_gives_up_is_told_what_it_waited_for(scene: Scene, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyed_writes, "DEADLINE", 0.3)
    monkeypatch.setattr(keyed_writes, "SLICE", 0.1)
    scene.hold("held")
    scene.store.events.add_on(scene.caller, fact(key="held"))
    call: Callable[[], object] = (
        partial(scene.store.runs.add, [request(tag="with it"), request(key="held"), request(key="other")])
        if kind == "run"
        else partial(scene.store.events.add, [fact(), fact(key="held")])
    )
    before = len(scene.store.runs.list(Filter(None))), len(listed(scene.store))
    with pytest.raises(
        StoreUnavailable, match=r"Another transaction held the lock on .*the key 'held'.* for over"
    ) as told:
        call()
    assert "Commit or roll back the transaction" in str(told.value)
    assert "cannot be reached" not in str(told.value)
    assert (len(scene.store.runs.list(Filter(None))), len(listed(scene.store))) == before  # all or nothing


def test_a_list_is_written_in_one_order_and_answered_in_the_callers(scene: Scene) -> None:
    new = [request(key="z"), request(), request(key="a"), request(key="z"), request(key="m", on_duplicate="replace")]
    z, plain, a, again, m = scene.store.runs.add(new)
    assert [z, plain, a, m] == [Added(new[place].run.id, True) for place in (0, 1, 2, 4)]
    assert again == Added(z.id, False)


def test_the_same_keys_crosswise(scene: Scene, postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two lists with the same keys in opposite order: neither waits for the other while that waits for it."""
    monkeypatch.setattr(calls_module, "TRIES", 1)  # what the server gives up would be tried again, and tell nobody
    keys = ["a", "m", "z"]

    def add(store: Store, keys: list[str]) -> dict[str, str]:
        return {
            key: added.id for key, added in zip(keys, store.runs.add([request(key=key) for key in keys]), strict=True)
        }

    other = open_store(postgres_url)
    try:
        scene.hold("m")
        calls = [scene.threads.submit(add, scene.store, keys), scene.threads.submit(add, other, keys[::-1])]
        scene.wait_for_waiting(2)
        scene.caller.rollback()
        first, second = [call.result(20) for call in calls]
        assert first == second
    finally:
        other.close()


@pytest.mark.anyio
async def test_async_callers_that_wait_hold_up_no_others(scene: Scene, postgres_url: str) -> None:
    """More of them than there are threads for the other verbs."""
    bell = Workbell(postgres_url)

    @bell.job
    def work() -> None: ...

    bell.emit("app.thing", key="held", connection=scene.caller)
    work.options(key="held", connection=scene.caller).enqueue()
    waiting = [asyncio.ensure_future(work.options(key="held").aenqueue()) for _ in range(CROWD)]
    waiting += [asyncio.ensure_future(bell.aemit("app.thing", key="held")) for _ in range(4)]
    await asyncio.to_thread(scene.wait_for_waiting)
    async with asyncio.timeout(SOON):
        await asyncio.gather(*(work.aenqueue() for _ in range(CROWD)), bell.aemit("app.thing"))
    assert not any(one.done() for one in waiting)
    scene.caller.rollback()
    async with asyncio.timeout(20):
        answers = await asyncio.gather(*waiting)
    assert len({run.id for run in answers[:CROWD]}) == 1
    bell.close()


@pytest.mark.anyio
async def test_a_held_key_holds_up_no_other_result(scene: Scene, postgres_url: str) -> None:
    """A web request whose transaction stays open has enqueued with the key of a run that ends meanwhile."""
    gate = threading.Event()
    with Workbell(postgres_url) as bell:

        @bell.job
        def work() -> None: ...

        @bell.job
        def held() -> None:
            gate.wait(30)

        def status(run: Run) -> Status:
            return bell.get(run.id).status

        async with bell.running():
            run = held.options(key="held").enqueue()
            await asyncio.to_thread(until, lambda: status(run) is Status.RUNNING, "it to begin")
            assert held.options(key="held", connection=scene.caller).enqueue().id == run.id
            gate.set()
            await asyncio.to_thread(scene.wait_for_waiting)
            for _ in range(3):
                others = [work.options(key=key).enqueue() for key in (None, "free", None, "other")]
                async with asyncio.timeout(SOON):
                    ended = await asyncio.gather(*(bell.await_(one.id) for one in others))
                assert {one.status for one in ended} == {Status.SUCCEEDED}
            assert status(run) is Status.RUNNING
            scene.caller.rollback()
            assert (await bell.await_(run.id, timeout=SOON)).status is Status.SUCCEEDED
            assert bell.get(run.id).losses == 0

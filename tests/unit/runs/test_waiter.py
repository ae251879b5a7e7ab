"""Waiting for runs to end: many waits, one thread, and no wait that outlives its answer."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from tests.support.waiting import until
from tests.unit.makers import run_in
from workbell.errors import InvalidOption, RunNotFound, StoreError, StoreUnavailable, WaitTimeout, WorkbellError
from workbell.model import state
from workbell.model.run import Run, Status
from workbell.runs.waiter import Waiter
from workbell.stores.publisher import Pair

START = datetime(2030, 1, 1, tzinfo=UTC)
IDS = [f"01890000-0000-7000-8000-{number:012x}" for number in range(50)]


class FakeStore:
    """Only what a waiter asks of a store. Nothing here is a database: this tests the waiter alone."""

    def __init__(self) -> None:
        self.runs = SimpleNamespace(find=self._find)
        self.kept = {run_id: msgspec.structs.replace(run_in(Status.QUEUED), id=run_id) for run_id in IDS}
        self.error: Exception | None = None
        self.asked: list[list[str]] = []
        self.threads: set[str] = set()

    def _find(self, ids: list[str]) -> dict[str, Run]:
        self.asked.append(list(ids))
        self.threads.add(threading.current_thread().name)
        if self.error is not None:
            raise self.error
        return {run_id: self.kept[run_id] for run_id in ids if run_id in self.kept}

    def end(self, run_id: str, status: Status = Status.SUCCEEDED) -> Pair:
        """End a run; the answer is what tells of it."""
        before = msgspec.structs.replace(run_in(Status.QUEUED), id=run_id)
        self.kept[run_id] = msgspec.structs.replace(before, status=status)
        return before, state.cancel(before, START, reason="told", keep=timedelta(days=1))


def waits_for(waiter: Waiter, run_id: str) -> int:
    """How many wait for a run."""
    wait = waiter._waiting.get(run_id)
    return 0 if wait is None else len(wait.futures)


@pytest.fixture
def fake() -> FakeStore:
    return FakeStore()


@pytest.fixture
def waiter(fake: FakeStore) -> Any:
    made = Waiter(lambda: fake)  # type: ignore[arg-type,return-value]
    yield made
    made.close()


@pytest.mark.parametrize("status", [Status.SUCCEEDED, Status.FAILED, Status.CANCELED])
def test_a_run_that_has_ended_is_returned(fake: FakeStore, waiter: Waiter, status: Status) -> None:
    fake.end(IDS[0], status)
    assert waiter.wait(IDS[0], 30).status is status


def test_many_waits_share_one_thread_and_one_question(fake: FakeStore, waiter: Waiter) -> None:
    with ThreadPoolExecutor(len(IDS)) as threads:
        futures = [threads.submit(waiter.wait, run_id, 30) for run_id in IDS]
        until(lambda: fake.asked and len(fake.asked[-1]) == len(IDS), "one question about all")
        waiter.moved([fake.end(run_id) for run_id in IDS])
        assert [future.result(30).id for future in futures] == IDS
    assert fake.threads == {"workbell-wait"}
    assert waiter._waiting == {}


def test_what_ends_here_is_read_alone(fake: FakeStore, waiter: Waiter, monkeypatch: pytest.MonkeyPatch) -> None:
    """And what nobody waits for is not read: 100 runs of others made 100 reads of all that was waited for."""
    monkeypatch.setattr("workbell.runs.waiter.FASTEST", 60.0)  # from the first read on, only what is told counts
    monkeypatch.setattr("workbell.runs.waiter.SLOWEST", 60.0)
    with ThreadPoolExecutor(20) as threads:
        futures = [threads.submit(waiter.wait, run_id, 30) for run_id in IDS[:20]]
        until(lambda: {run_id for asked in fake.asked for run_id in asked} == set(IDS[:20]), "each to be asked for")
        assert sum(map(len, fake.asked)) == 20, "once, and not again for each that is added"
        fake.asked.clear()
        waiter.moved([fake.end(run_id) for run_id in IDS[20:]])
        going_on = fake.kept[IDS[1]]
        waiter.moved([(going_on, state.dispatch(msgspec.structs.replace(going_on, status=Status.SCHEDULED), START))])
        waiter.moved([fake.end(IDS[0])])
        assert futures[0].result(30).id == IDS[0]
        assert fake.asked == [[IDS[0]]]
        waiter.moved([fake.end(run_id) for run_id in IDS[:20]])
        assert [future.result(30).id for future in futures] == IDS[:20]


def test_what_ends_elsewhere_is_found_while_others_end_here(fake: FakeStore, waiter: Waiter) -> None:
    with ThreadPoolExecutor(2) as threads:
        elsewhere = threads.submit(waiter.wait, IDS[0], 30)
        until(lambda: fake.asked, "it to be asked for")
        fake.end(IDS[0])
        while not elsewhere.done():
            assert waiter.wait(fake.end(IDS[1])[0].id, 30).id == IDS[1]
        assert elsewhere.result().id == IDS[0]


def test_two_waits_for_one_run(fake: FakeStore, waiter: Waiter) -> None:
    with ThreadPoolExecutor(2) as threads:
        futures = [threads.submit(waiter.wait, IDS[0], 30) for _ in range(2)]
        until(lambda: waits_for(waiter, IDS[0]) == 2, "both to wait")
        fake.end(IDS[0])
        assert {future.result(30).id for future in futures} == {IDS[0]}


def test_time_runs_out(waiter: Waiter) -> None:
    for timeout in (0, 0.01, timedelta(milliseconds=10)):
        with pytest.raises(WaitTimeout, match=r"did not end within .* s; ask bell\.why\(id\)"):
            waiter.wait(IDS[0], timeout)
    assert waiter._waiting == {}
    with pytest.raises(InvalidOption, match="timeout: -1"):
        waiter.wait(IDS[0], -1)


async def _await_two(fake: FakeStore, waiter: Waiter) -> None:
    with pytest.raises(WaitTimeout):
        await waiter.await_(IDS[0], 0.01)
    first = asyncio.ensure_future(waiter.await_(IDS[1], 30))
    second = asyncio.ensure_future(waiter.await_(IDS[1], 30))
    await asyncio.to_thread(until, lambda: waits_for(waiter, IDS[1]) == 2)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    fake.end(IDS[1])
    assert (await second).id == IDS[1]


def test_async_waits_and_a_cancelled_one(fake: FakeStore, waiter: Waiter) -> None:
    asyncio.run(_await_two(fake, waiter))
    assert waiter._waiting == {}


def test_an_unreachable_store_is_waited_out(fake: FakeStore, waiter: Waiter) -> None:
    fake.error = StoreUnavailable("gone")
    with ThreadPoolExecutor(1) as threads:
        future = threads.submit(waiter.wait, IDS[0], 30)
        until(lambda: len(fake.asked) >= 2, "the store to be asked again")
        fake.error = None
        waiter.moved([fake.end(IDS[0])])
        assert future.result(30).id == IDS[0]


@pytest.mark.parametrize("error", [StoreError("broken"), RuntimeError("a bug")])
def test_any_other_error_reaches_those_who_wait_and_the_waiter_goes_on(
    fake: FakeStore, waiter: Waiter, error: Exception
) -> None:
    fake.error = error
    with pytest.raises(type(error)):
        waiter.wait(IDS[0], 30)
    fake.error = None
    fake.end(IDS[0])
    assert waiter.wait(IDS[0], 30).id == IDS[0]


def test_a_run_that_was_removed_is_not_waited_for_for_ever(fake: FakeStore, waiter: Waiter) -> None:
    """With a remove_delay of nothing a run can be gone before it is seen to have ended."""
    with ThreadPoolExecutor(1) as threads:
        future = threads.submit(waiter.wait, IDS[0], 30)
        until(lambda: fake.asked, "the store to be asked")
        del fake.kept[IDS[0]]
        with pytest.raises(RunNotFound, match="was removed while it was waited for"):
            future.result(30)


def test_a_closed_waiter_says_so(waiter: Waiter) -> None:
    waiter.close()
    with pytest.raises(WorkbellError, match="closed"):
        waiter.wait(IDS[0], 1)


def test_who_waits_is_told_that_it_was_closed(fake: FakeStore, waiter: Waiter) -> None:
    """Without a timeout they would wait for ever."""

    async def wait() -> None:
        waiting = asyncio.ensure_future(waiter.await_(IDS[1], None))
        await asyncio.to_thread(until, lambda: waits_for(waiter, IDS[1]))
        waiter.close()
        with pytest.raises(WorkbellError, match=r"was closed while it waited for run .*; wait again"):
            await asyncio.wait_for(waiting, 10)

    errors: list[WorkbellError] = []

    def wait_here() -> None:
        try:
            waiter.wait(IDS[0], None)
        except WorkbellError as error:
            errors.append(error)

    thread = threading.Thread(target=wait_here, daemon=True)
    thread.start()
    until(lambda: waits_for(waiter, IDS[0]))
    asyncio.run(wait())
    thread.join(10)
    assert f"was closed while it waited for run {IDS[0]}" in str(errors)


def test_many_runs_are_read_in_pages(fake: FakeStore, waiter: Waiter, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run may have half a megabyte of input and result."""
    monkeypatch.setattr("workbell.runs.waiter.PAGE", 20)
    with ThreadPoolExecutor(len(IDS)) as threads:
        futures = [threads.submit(waiter.wait, run_id, 30) for run_id in IDS]
        until(lambda: len(waiter._waiting) == len(IDS), "all to wait")
        fake.asked.clear()
        until(lambda: {run_id for asked in fake.asked for run_id in asked} == set(IDS), "each to be asked for")
        assert max(map(len, fake.asked)) == 20
        waiter.moved([fake.end(run_id) for run_id in IDS])
        assert [future.result(30).id for future in futures] == IDS

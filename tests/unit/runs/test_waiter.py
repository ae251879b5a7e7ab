"""Waiting for runs to end: many waits, one thread, and no wait that outlives its answer."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from tests.support.waiting import until
from tests.unit.makers import run_in
from workbell.errors import InvalidOption, RunNotFound, StoreError, StoreUnavailable, WaitTimeout, WorkbellError
from workbell.model.run import Run, Status
from workbell.runs.waiter import Waiter

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

    def end(self, run_id: str, status: Status = Status.SUCCEEDED) -> None:
        self.kept[run_id] = msgspec.structs.replace(self.kept[run_id], status=status)


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
        for run_id in IDS:
            fake.end(run_id)
        waiter.moved([])
        assert [future.result(30).id for future in futures] == IDS
    assert fake.threads == {"workbell-wait"}
    assert waiter._waiting == {}


def test_two_waits_for_one_run(fake: FakeStore, waiter: Waiter) -> None:
    with ThreadPoolExecutor(2) as threads:
        futures = [threads.submit(waiter.wait, IDS[0], 30) for _ in range(2)]
        until(lambda: len(waiter._waiting.get(IDS[0], [])) == 2, "both to wait")
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
    await asyncio.to_thread(until, lambda: len(waiter._waiting.get(IDS[1], [])) == 2)
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
        fake.end(IDS[0])
        waiter.moved([])
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

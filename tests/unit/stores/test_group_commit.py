"""Group commit: many callers, few writes, and each caller gets its own answer or its own error."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from tests.support.interrupts import Interrupt, every_point
from tests.support.waiting import until
from workbell.errors import StoreError, StoreUnavailable
from workbell.stores import group_commit, turns
from workbell.stores.group_commit import MOST, GroupCommit


class Writer:
    """Answers each number with its square; the first write can be held up until `open` is set."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.entered = threading.Event()
        self.open = threading.Event()
        self.open.set()
        self.at_once = 0

    def __call__(self, items: Sequence[int]) -> list[int]:
        self.at_once += 1
        assert self.at_once == 1, "two writes at the same time"
        try:
            self.entered.set()
            assert self.open.wait(30)
            self.batches.append(list(items))
            if any(item < 0 for item in items):
                raise StoreError(f"negative: {items}")
            if any(item == 666 for item in items):
                raise StoreUnavailable("gone")
            return [item * item for item in items]
        finally:
            self.at_once -= 1


@pytest.fixture
def writer() -> Writer:
    return Writer()


def waiting(group: GroupCommit[int, int]) -> int:
    """How many callers wait for a write of theirs to begin."""
    return sum(not entry.tried and not entry.gone for entry in list(group._queue))


def gathered(
    group: GroupCommit[int, int], writer: Writer, threads: ThreadPoolExecutor, requests: Sequence[Sequence[int]]
) -> list[Future[list[int]]]:
    """Hold up one write, and have the others gather behind it in this order."""
    writer.open.clear()
    writer.entered.clear()
    futures = [threads.submit(group.submit, requests[0])]
    assert writer.entered.wait(30)
    for place, request in enumerate(requests[1:], 1):
        futures.append(threads.submit(group.submit, request))
        until(lambda place=place: waiting(group) == place, "the caller to wait in line")  # type: ignore[misc]
    return futures


def test_a_lone_caller_writes_at_once_in_its_own_thread(writer: Writer) -> None:
    here: list[int] = []

    def write(items: Sequence[int]) -> list[int]:
        here.append(threading.get_ident())
        return writer(items)

    group: GroupCommit[int, int] = GroupCommit(write)
    assert group.submit([2, 3]) == [4, 9]
    assert group.submit([]) == []
    assert set(here) == {threading.get_ident()}


def test_those_who_come_meanwhile_share_the_next_write(writer: Writer) -> None:
    group: GroupCommit[int, int] = GroupCommit(writer)
    with ThreadPoolExecutor(8) as threads:
        futures = gathered(group, writer, threads, [[1], [2, 3], [4], [5, 6, 7]])
        writer.open.set()
        assert [future.result(30) for future in futures] == [[1], [4, 9], [16], [25, 36, 49]]
    assert writer.batches == [[1], [2, 3, 4, 5, 6, 7]]
    assert group.submit([9]) == [81]  # and the turn was given back


def test_a_mistake_is_the_guilty_callers_alone(writer: Writer) -> None:
    group: GroupCommit[int, int] = GroupCommit(writer)
    with ThreadPoolExecutor(8) as threads:
        futures = gathered(group, writer, threads, [[1], [2], [-3, 4], [5]])
        writer.open.set()
        assert futures[1].result(30) == [4]
        assert futures[3].result(30) == [25]
        with pytest.raises(StoreError, match=r"negative: \[-3, 4\]"):
            futures[2].result(30)
    assert group.submit([9]) == [81]


def test_an_unreachable_store_is_told_to_all_and_tried_once(writer: Writer) -> None:
    group: GroupCommit[int, int] = GroupCommit(writer)
    with ThreadPoolExecutor(8) as threads:
        futures = gathered(group, writer, threads, [[1], [2], [666]])
        writer.open.set()
        for future in futures[1:]:
            with pytest.raises(StoreUnavailable):
                future.result(30)
    assert writer.batches == [[1], [2, 666]]
    assert group.submit([9]) == [81]


def test_a_write_has_a_limit_and_the_rest_gets_a_leader_of_its_own(writer: Writer) -> None:
    group: GroupCommit[int, int] = GroupCommit(writer)
    half = [7] * (MOST // 2 + 1)
    with ThreadPoolExecutor(8) as threads:
        futures = gathered(group, writer, threads, [[1], half, half, half])
        writer.open.set()
        for future in futures[1:]:
            assert future.result(30) == [item * item for item in half]
    assert [len(batch) for batch in writer.batches] == [1, len(half), len(half), len(half)]


def test_more_than_the_limit_in_one_call_is_still_one_write(writer: Writer) -> None:
    group: GroupCommit[int, int] = GroupCommit(writer)
    assert len(group.submit([1] * (MOST * 2))) == MOST * 2
    assert len(writer.batches) == 1


class Interrupted:
    """A lock whose second `acquire`, the waiting one, is interrupted, as by Ctrl-C, once `before` has returned."""

    def __init__(self, before: Callable[[threading.Event], None]) -> None:
        self.before = before
        self.lock = threading.Lock()
        self.released = threading.Event()
        self.locked = self.lock.locked

    def acquire(self, timeout: float = -1) -> bool:
        if not self.lock.locked():
            return self.lock.acquire()
        assert timeout > 0
        self.before(self.released)
        raise KeyboardInterrupt

    def release(self) -> None:
        self.released.set()

    def __enter__(self) -> None:
        self.lock.acquire()

    def __exit__(self, *_: object) -> None:
        self.lock.release()


@pytest.mark.parametrize("chosen", [False, True], ids=["while waiting", "just as its turn came"])
def test_an_interrupted_caller_does_not_stop_the_others(
    writer: Writer, chosen: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    group: GroupCommit[int, int] = GroupCommit(writer)
    ready = threading.Event()

    def before(released: threading.Event) -> None:
        ready.set()
        if chosen:
            assert released.wait(30)

    with ThreadPoolExecutor(8) as threads:
        futures = gathered(group, writer, threads, [[1]])
        with monkeypatch.context() as patched:
            patched.setattr("workbell.stores.turns.Lock", lambda: Interrupted(before))
            futures.append(threads.submit(group.submit, [2]))
            assert ready.wait(30)
        if not chosen:
            until(lambda: waiting(group) == 0, "the interrupted caller to leave the line")
        futures.append(threads.submit(group.submit, [3]))
        until(lambda: waiting(group) == (2 if chosen else 1), "the third caller to wait")
        writer.open.set()
        assert futures[0].result(30) == [1]
        with pytest.raises(KeyboardInterrupt):
            futures[1].result(30)
        assert futures[2].result(30) == [9]
        assert group.submit([4]) == [16]
    assert writer.batches == [[1], [3], [4]]


class Table:
    """Keeps what was written, and refuses what it has; a number below zero is a mistake. All or nothing."""

    def __init__(self) -> None:
        self.kept: list[int] = []
        self.entered = threading.Event()
        self.open = threading.Event()
        self.open.set()

    def write(self, items: Sequence[int]) -> list[int]:
        self.entered.set()
        assert self.open.wait(30)
        for item in items:
            if item in self.kept:
                raise StoreError(f"UNIQUE constraint failed: {item}")
            if item < 0:
                raise ValueError(f"negative: {items}")
        self.kept.extend(items)  # the commit: one call, so it happens or not
        return [item * item for item in items]

    def written(self, items: Sequence[int]) -> list[int] | None:
        return [item * item for item in items] if set(items) <= set(self.kept) else None


def test_a_mistake_that_is_no_error_of_ours_is_the_guilty_callers_alone() -> None:
    """A value that the driver refuses, for one. It could also be an interrupt, so what was written is looked up."""
    table = Table()
    group = GroupCommit(table.write, table.written)
    table.open.clear()
    calls = [threading_call(lambda: group.submit([1]))]
    assert table.entered.wait(30)
    for place, items in enumerate(([2], [-3, 4], [5]), 1):
        calls.append(threading_call(lambda items=items: group.submit(items)))  # type: ignore[misc]
        until(lambda place=place: waiting(group) == place, "the caller to wait")  # type: ignore[misc]
    table.open.set()
    first, before, guilty, behind = [outcome(call) for call in calls]
    assert [first, before, behind] == [[1], [4], [25]]
    assert type(guilty) is ValueError
    assert table.kept == [1, 2, 5]


def waits(group: GroupCommit[int, int], place: int, interrupt: Interrupt[Any]) -> bool:
    """Whether so many callers wait, but for the one that was interrupted already."""
    return interrupt.where is not None or waiting(group) == place


class TooLong(Exception):
    """A soft time limit: raised by a signal's handler in the midst of anything."""


POINTS = (group_commit, turns, sys.modules[__name__])


def test_a_lone_caller_may_be_interrupted_anywhere() -> None:
    """Nobody waits for ever for one that left."""
    for interrupt in every_point(*POINTS):
        table = Table()
        group = GroupCommit(table.write, table.written)
        try:
            assert interrupt.call(partial(group.submit, [3])) == [9]
        except KeyboardInterrupt:
            assert interrupt.where
        else:
            assert interrupt.where is None, f"swallowed at {interrupt.where}"
        assert outcome(threading_call(partial(group.submit, [4]))) == [16], interrupt.where
        assert sorted(set(table.kept)) == sorted(table.kept)


@pytest.mark.parametrize("error", [KeyboardInterrupt, TooLong])
def test_a_leader_may_be_interrupted_anywhere(error: type[BaseException]) -> None:
    """Its mates get their own answers, each is written once, and the interrupt reaches the leader alone."""
    for interrupt in every_point(*POINTS, error=error):
        table = Table()
        group = GroupCommit(table.write, table.written)
        table.open.clear()
        calls = [threading_call(partial(group.submit, [1]))]
        assert table.entered.wait(30)
        for place, items in enumerate(([2, 3], [4], [5, 6]), 1):
            submit = partial(group.submit, items)
            calls.append(threading_call(partial(interrupt.call, submit) if place == 1 else submit))
            until(partial(waits, group, place, interrupt), "the caller to wait")
        table.open.set()
        first, led, *mates = [outcome(call) for call in calls]
        assert first == [1]
        assert mates == [[16], [25, 36]], interrupt.where
        assert type(led) is error if interrupt.where else led == [4, 9], interrupt.where
        assert outcome(threading_call(partial(group.submit, [7]))) == [49], interrupt.where
        assert sorted(set(table.kept)) == sorted(table.kept), f"written twice after {interrupt.where}"


def test_mates_are_told_where_nobody_can_know() -> None:
    table = Table()
    rounds = 0
    for interrupt in every_point(sys.modules[__name__]):
        table = Table()
        group = GroupCommit(table.write)
        table.open.clear()
        calls = [threading_call(partial(group.submit, [1]))]
        assert table.entered.wait(30)
        calls.append(threading_call(partial(interrupt.call, partial(group.submit, [2]))))
        until(partial(waits, group, 1, interrupt), "the leader to wait")
        calls.append(threading_call(partial(group.submit, [3])))
        until(partial(waits, group, 2, interrupt), "its mate to wait")
        table.open.set()
        mate = outcome(calls[2])
        if interrupt.where:
            assert isinstance(mate, StoreUnavailable)
            assert "may or may not have been made" in str(mate)
            rounds += 1
        else:
            assert mate == [9]
        assert sorted(set(table.kept)) == sorted(table.kept)
    assert rounds > 3


def threading_call(work: Callable[[], Any]) -> Future[Any]:
    """A call in a thread of its own, which ends with the tests even if the call does not."""
    future: Future[Any] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future


def outcome(call: Future[Any]) -> Any:
    """What a call returned or raised; it must have ended within a few seconds."""
    error = call.exception(10)
    return call.result() if error is None else error


def test_many_threads_all_get_their_own_answers(writer: Writer) -> None:
    group: GroupCommit[int, int] = GroupCommit(writer)

    def work(seed: int) -> list[Any]:
        found: list[Any] = []
        for step in range(50):
            items = [seed * 1000 + step, step] if step % 10 else [-1]
            try:
                found.append(group.submit(items) == [item * item for item in items])
            except StoreError as error:
                found.append(items == [-1] and str(error) == "negative: [-1]")
        return found

    with ThreadPoolExecutor(16) as threads:
        assert all(all(found) for found in threads.map(work, range(16)))
    assert waiting(group) == 0

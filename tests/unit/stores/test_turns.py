"""Turns: in the order of asking, some first, with an end to waiting, and never lost."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.support.interrupts import every_point
from tests.support.waiting import until
from workbell.stores import turns as module
from workbell.stores.turns import Turn, Turns


@contextmanager
def held(turns: Turns, timeout: float = 30, *, first: bool = False) -> Iterator[bool]:
    """A turn, as everybody takes it."""
    turn = Turn()
    with turn.here:
        try:
            yield turns.take(turn, timeout, first=first)
        finally:
            turns.give_back(turn)


def is_free(turns: Turns) -> bool:
    with held(turns, 0) as got:
        return got


def ask(turns: Turns, order: list[str], name: str, *, first: bool = False) -> threading.Thread:
    """A thread that waits for its turn, notes its name, and hands the turn on."""
    before = len(turns._queue)

    def work() -> None:
        with held(turns, first=first) as got:
            assert got
            order.append(name)

    thread = threading.Thread(target=work)
    thread.start()
    until(lambda: len(turns._queue) == before + 1, f"{name} to wait")
    return thread


def test_turns_are_handed_on_in_the_order_of_asking() -> None:
    turns, order = Turns(), list[str]()
    with held(turns):
        threads = [ask(turns, order, str(number)) for number in range(5)]
    for thread in threads:
        thread.join(30)
    assert order == ["0", "1", "2", "3", "4"]
    assert is_free(turns)


def test_a_renewal_goes_to_the_front() -> None:
    turns, order = Turns(), list[str]()
    with held(turns):
        threads = [ask(turns, order, "write 1"), ask(turns, order, "write 2")]
        threads.append(ask(turns, order, "renewal", first=True))
    for thread in threads:
        thread.join(30)
    assert order == ["renewal", "write 1", "write 2"]


def test_a_turn_is_handed_on_and_cannot_be_snatched() -> None:
    """Somebody who comes at the moment of giving back gets in line behind those who waited."""
    turns, go, had_turn = Turns(), threading.Event(), threading.Event()

    def work() -> None:
        with held(turns):
            had_turn.set()
            assert go.wait(30)

    thread = threading.Thread(target=work)
    with held(turns):
        thread.start()
        until(lambda: len(turns._queue) == 1, "the thread to wait")
    assert not is_free(turns)
    assert had_turn.wait(30)
    go.set()
    thread.join(30)
    assert is_free(turns)


def test_waiting_has_an_end_and_leaves_no_trace() -> None:
    turns = Turns()
    with held(turns):
        for first in (False, True):
            with held(turns, 0.01, first=first) as got:
                assert not got
        assert len(turns._queue) == 0
    assert is_free(turns)


@pytest.mark.parametrize("room", [1, 3])
def test_never_more_than_there_is_room_for(room: int) -> None:
    turns, inside, most, guard = Turns(room), [0], [0], threading.Lock()

    def work(number: int) -> None:
        for step in range(200):
            with held(turns, first=(number + step) % 7 == 0) as got:
                assert got
                with guard:
                    inside[0] += 1
                    most[0] = max(most[0], inside[0])
                with guard:
                    inside[0] -= 1

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert 1 <= most[0] <= room
    assert is_free(turns)


def test_one_that_left_without_giving_back_is_passed_over() -> None:
    """As after an interrupt within the `finally` itself."""
    turns = Turns()
    lost = Turn()
    with lost.here:
        assert turns.take(lost, 0)
    assert is_free(turns)


def test_one_that_leaves_while_others_wait_is_passed_over() -> None:
    turns, order, lost = Turns(), list[str](), Turn()
    with lost.here:
        assert turns.take(lost, 0)
        thread = ask(turns, order, "waiting")
    thread.join(30)
    assert order == ["waiting"]


@pytest.mark.parametrize("contended", [False, True])
def test_an_interrupt_anywhere_loses_no_turn(contended: bool) -> None:
    for interrupt in every_point(module):
        turns, go, order = Turns(), threading.Event(), list[str]()

        def hold(turns: Turns = turns, go: threading.Event = go) -> None:
            with held(turns):
                assert go.wait(30)

        def let_go(turns: Turns = turns, go: threading.Event = go) -> None:
            until(lambda: turns._queue or go.is_set(), "somebody to wait, or to be interrupted before that")
            go.set()

        def work(turns: Turns = turns) -> None:
            with held(turns) as got:
                assert got

        holder = threading.Thread(target=hold)
        if contended:
            holder.start()
            until(lambda turns=turns: len(turns._holders) == 1, "the turn to be taken")  # type: ignore[misc]
            threading.Thread(target=let_go).start()
        try:
            interrupt.call(work)
        except KeyboardInterrupt:
            assert interrupt.where
        else:
            assert interrupt.where is None, f"swallowed at {interrupt.where}"
        go.set()
        if contended:
            holder.join(30)
        waits = threading.Thread(target=lambda turns=turns, order=order: order.append(str(is_free(turns))), daemon=True)
        waits.start()
        waits.join(10)
        assert order == ["True"], interrupt.where

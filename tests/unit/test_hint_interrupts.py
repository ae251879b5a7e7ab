"""Ctrl-C while a hint is sent or a wait is registered: other threads can still do both."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.fresh_store import fresh_store
from tests.support.interrupts import every_point
from tests.support.waiting import until
from workbell.runs import waiter as waiting
from workbell.stores.postgres import hints


class Database:
    """Counts what is sent to it."""

    def __init__(self) -> None:
        self.sent: list[object] = []

    def run(self, work: Callable[..., object], **_: object) -> None:
        self.sent.append(work)


def ends(work: Callable[[], object]) -> bool:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(5)
    return not thread.is_alive()


@pytest.mark.parametrize("verb", ["send", "send_later"])
def test_a_hint_may_be_interrupted_anywhere(verb: str) -> None:
    for interrupt in every_point(hints, threading):
        database: Any = Database()
        notifier = hints.HintSender(database)
        notifier.send_later((0.0,))  # its thread runs by now: that a thread can be started is not the matter here
        call: Callable[[], None] = notifier.send if verb == "send" else lambda n=notifier: n.send_later((0.0, 0.001))  # type: ignore[misc]
        try:
            interrupt.call(call)
        except KeyboardInterrupt:
            assert interrupt.where
        database.sent.clear()

        def hint(notifier: hints.HintSender = notifier, database: Database = database) -> bool:
            assert ends(lambda: notifier.send_later((0.0,)))
            return bool(database.sent)

        until(hint, f"a hint after an interrupt at {interrupt.where}", 5)
        assert ends(notifier.close), interrupt.where


def test_a_wait_may_be_interrupted_anywhere() -> None:
    store = fresh_store()
    for interrupt in every_point(waiting, threading):
        waiter = waiting.Waiter(lambda: store)

        def register(waiter: waiting.Waiter = waiter) -> None:
            waiter._forget("run", waiter._register("run"))
            waiter.moved([])

        register()  # its thread runs by now
        try:
            interrupt.call(register)
        except KeyboardInterrupt:
            assert interrupt.where
        assert ends(register), interrupt.where
        assert ends(waiter.close), interrupt.where

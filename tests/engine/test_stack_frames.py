"""Where an event loop is in the application's code, as the watch on it sees it."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.support.waiting import until
from workbell.engine.stack_frames import Frame, innermost


@contextmanager
def loop_in_thread() -> Iterator[tuple[asyncio.AbstractEventLoop, int]]:
    """A loop that was started from code of the application, as every one is."""
    loop = asyncio.new_event_loop()

    def of_the_application() -> None:
        loop.run_forever()
        loop.close()

    thread = threading.Thread(target=of_the_application, daemon=True)
    thread.start()
    try:
        yield loop, thread.ident or 0
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(30)


def place_of(thread: int) -> Frame | None:
    return innermost(sys._current_frames().get(thread))


def test_an_idle_loop_is_nowhere() -> None:
    """Also not at the place that started it."""
    with loop_in_thread() as (loop, thread):
        until(loop.is_running, "the loop to run")
        until(lambda: place_of(thread) is None, "the loop to be idle")


@pytest.mark.parametrize(
    ("files", "wanted"),
    [
        (["/srv/shop.py"], "/srv/shop.py"),
        (["/srv/shop.py", "/venv/site-packages/client.py"], "/srv/shop.py"),
        (["/venv/site-packages/server.py", "/srv/shop.py", "/venv/site-packages/client.py"], "/srv/shop.py"),
        (["/venv/site-packages/server.py", "/venv/site-packages/client.py"], "/venv/site-packages/client.py"),
    ],
)
def test_code_of_the_application_comes_before_what_is_installed(files: list[str], wanted: str) -> None:
    """Each file calls the next; the last one waits, in the standard library."""
    gate, begun = threading.Event(), threading.Event()
    names: dict[str, Any] = {"gate": gate, "begun": begun}
    *outer, last = files
    exec(compile("def call():\n    begun.set()\n    gate.wait(60)\n", last, "exec"), names)
    for file in reversed(outer):
        names = {"inner": names["call"]}
        exec(compile("def call():\n    inner()\n", file, "exec"), names)
    with loop_in_thread() as (loop, thread):
        try:
            loop.call_soon_threadsafe(names["call"])
            assert begun.wait(30)
            found = place_of(thread)
        finally:
            gate.set()
    assert found is not None
    assert (found.file, found.function) == (wanted, "call")
    assert str(found).startswith(f"{wanted}:")

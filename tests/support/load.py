"""Load on a store while its servers fail: threads that enqueue and emit, and note what was acknowledged."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType

from workbell import StoreUnavailable, Workbell

from .recorder import Event, Recorder
from .waiting import until
from .worker_app import mixed

TYPE = "shop.orders.made"
PACE = 0.02  # seconds between two calls of a thread
GROUP = 3


class Load:
    """Until the block ends: runs, runs with a key that are asked for until they are there, and events."""

    def __init__(self, bell: Workbell, recorder: Recorder) -> None:
        self._bell, self._recorder = bell, recorder
        self._stop = threading.Event()
        self.acknowledged = 0
        self.refused = 0
        duties = (self._enqueue, self._enqueue_keyed, self._emit)
        self._threads = [threading.Thread(target=self._repeat, args=(duty,), daemon=True) for duty in duties]

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(60)
            assert not thread.is_alive(), "a caller hangs"

    def await_more(self, count: int) -> None:
        """Until so many more calls were acknowledged."""
        wanted = self.acknowledged + count
        until(lambda: self.acknowledged >= wanted, f"{count} more acknowledgements", 60)

    def _repeat(self, duty: Callable[[int], None]) -> None:
        number = 0
        while not self._stop.is_set():
            number += 1
            try:
                duty(number)
                self.acknowledged += 1
            except StoreUnavailable:
                self.refused += 1
            time.sleep(PACE)

    def _enqueue(self, number: int) -> None:
        self._recorder.acknowledged(self._bell.enqueue_many(mixed(GROUP, number * GROUP)))

    def _enqueue_keyed(self, number: int) -> None:
        while True:
            with suppress(StoreUnavailable):
                run = self._bell.enqueue("quick_plain", {"number": number}, key=f"order-{number}", key_for=3600)
                return self._recorder.acknowledged([run])
            time.sleep(PACE)

    def _emit(self, number: int) -> None:
        event = self._bell.emit(TYPE, {"number": number})
        self._recorder.note("emitted", event=event.id)


def emitted(events: list[Event]) -> set[str]:
    return {event["event"] for event in events if event["kind"] == "emitted"}

"""The only place in the engine that sleeps: a thread around a step, which says how long to wait until the next."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from datetime import datetime

from workbell.errors import StoreUnavailable
from workbell.model.clock import Clock

log = logging.getLogger("workbell.engine")

Step = Callable[[datetime], float | None]


class Duty:
    """Calls `step(now)` again and again. None means: only when woken.

    An error never ends a duty: it is logged, and the step is tried again, at first soon and then every few seconds.
    """

    def __init__(self, name: str, step: Step, clock: Clock) -> None:
        self.name = name
        self._step = step
        self._clock = clock
        self._wake = threading.Event()
        self._stop = False
        self._thread = threading.Thread(target=self._run, name=f"workbell-{name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        self._wake.set()

    def _run(self) -> None:
        pause = 0.0
        while not self._stop:
            self._wake.clear()
            try:
                delay = self._step(self._clock.now())
                if pause:
                    log.info("%s goes on", self.name)
                pause = 0.0
            except Exception as error:
                if not pause:
                    if isinstance(error, StoreUnavailable):
                        log.warning("%s waits: %s", self.name, error)
                    else:
                        log.exception("%s failed, and is tried again", self.name)
                pause = delay = min(max(pause * 2, 0.1), 3.0)
            if delay is None or delay > 0:
                self._wake.wait(delay)

    def end(self) -> None:
        """Start no other step."""
        self._stop = True
        self._wake.set()

    def stop(self, timeout: float = 20) -> None:
        """Let the step under way end, and start no other."""
        self.end()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(timeout)

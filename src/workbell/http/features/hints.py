"""Hint listener of the server: one thread that listens to the store, shared by all waiting requests."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable

from workbell.errors import StoreUnavailable
from workbell.stores.port import Store, StoreWatch

log = logging.getLogger("workbell.http")

PATIENCE = 60.0
AGAIN = 5.0
GAP = 0.02  # seconds between two hints, however much is written


class HintListener:
    """Hints from the store, for the event loop. Its thread starts with the first listener."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._listeners: dict[object, Callable[[], object]] = {}
        self._thread: threading.Thread | None = None
        self._watch: StoreWatch | None = None
        self._closed = False

    def listen(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call a function on this event loop after every hint; returns a function that stops it."""
        loop = asyncio.get_running_loop()
        key = object()
        with self._lock:
            self._listeners[key] = lambda: loop.call_soon_threadsafe(callback)
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._run, name="workbell-http-hints", daemon=True)
                self._thread.start()

        def stop() -> None:
            with self._lock:
                self._listeners.pop(key, None)

        return stop

    async def wait(self, timeout: float) -> bool:
        """Wait for a hint or a timeout; whether there was a hint. A hint can be missed: poll too."""
        hint = asyncio.Event()
        stop = self.listen(hint.set)
        try:
            async with asyncio.timeout(timeout):
                await hint.wait()
            return True
        except TimeoutError:
            return False
        finally:
            stop()

    def _run(self) -> None:
        said = ""
        while not self._closed:
            try:
                self._listen()
            except StoreUnavailable as error:
                if said != str(error):
                    log.warning("the store gives no hints: %s", error)
                said = str(error)
                time.sleep(AGAIN)
            except Exception:
                # Waiters also poll, so that nothing is lost; but without hints everything is late.
                log.exception("the store gives no hints; it is tried again in %g s", AGAIN)
                time.sleep(AGAIN)

    def _listen(self) -> None:
        watch = self._store.watch()
        with self._lock:
            self._watch = watch
        try:
            while not self._closed:
                if watch.wait(PATIENCE) and not self._closed:
                    self._call_listeners()
                    time.sleep(GAP)
        finally:
            with self._lock:
                self._watch = None  # before it is closed: its descriptors may soon be somebody else's
            watch.close()

    def _call_listeners(self) -> None:
        with self._lock:
            callbacks = list(self._listeners.values())
        for callback in callbacks:
            try:
                callback()
            except RuntimeError:  # its event loop is closed
                continue

    def close(self) -> None:
        with self._lock:
            self._closed = True
            if self._watch is not None:
                self._watch.interrupt()

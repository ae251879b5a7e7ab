"""Methods that control runs, over HTTP: cancel, retry, wait and watch."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import timedelta

from workbell.errors import InvalidOption, RunNotFound, ServiceUnavailable, StoreUnavailable, WaitTimeout
from workbell.model.clock import seconds
from workbell.model.run import Run
from workbell.model.state import CANCELED
from workbell.remote import words
from workbell.remote.call import Plan, RemoteCall, get, path, post
from workbell.remote.lookup import RemoteReading

LONG_POLL = 25.0  # seconds that the service waits with its answer: less than what stands in between puts up with
PACE = 0.25
REST = 2.0  # seconds after the service could not be reached


class RemoteSteering(RemoteReading):
    """The part of a client that ends runs, makes them again and waits for them."""

    def cancel(self, run_id: str, reason: str = CANCELED) -> Run:
        """End a run: at once if it has not started, else its handler is asked to stop."""
        return self.transport.send(_cancel(run_id, reason))

    async def acancel(self, run_id: str, reason: str = CANCELED) -> Run:
        return await self.transport.asend(_cancel(run_id, reason))

    def retry(self, run_id: str) -> Run:
        """Run a finished run's job again, with the same input: a new run, linked by `retry_of`."""
        return self.transport.send(_retry(run_id))

    async def aretry(self, run_id: str) -> Run:
        return await self.transport.asend(_retry(run_id))

    def wait(self, run_id: str, timeout: float | timedelta | None = None) -> Run:
        """Wait until a run has ended, and return it; raises WaitTimeout when the time is over first.

        Once it has begun, it goes on while the service cannot be reached, until its own time is over.
        """
        return self.transport.follow(_wait(run_id, timeout))

    async def await_(self, run_id: str, timeout: float | timedelta | None = None) -> Run:
        """`wait` for async code."""
        return await self.transport.afollow(_wait(run_id, timeout))

    def watch(self, run_id: str, *, pace: float = PACE) -> Iterator[Run]:
        """A run as it is now, and again whenever it has changed, until it has ended; read every `pace` seconds."""
        if not pace > 0:
            raise InvalidOption(f"pace: {pace} is not more than 0.")
        last: Run | None = None
        while True:
            run = self.get(run_id)
            if run != last:
                last = run
                yield run
            if run.status.final:
                return
            time.sleep(pace)


def _cancel(run_id: str, reason: str) -> RemoteCall[Run]:
    return post(path("runs", run_id, "cancel"), words.read_run, {"reason": reason})


def _retry(run_id: str) -> RemoteCall[Run]:
    return post(path("runs", run_id, "retry"), words.read_run)


def _wait(run_id: str, timeout: float | timedelta | None) -> Plan[Run]:
    limit = None if timeout is None else seconds("timeout", timeout)
    end = None if limit is None else time.monotonic() + limit
    where, begun = path("runs", run_id), False
    while True:
        left = LONG_POLL if end is None else min(LONG_POLL, max(end - time.monotonic(), 0.0))
        asked_at = time.monotonic()
        try:
            # Rounded up: an answer that comes a moment too early would cost another request.
            run: Run = yield get(where, words.read_run, wait=round(left + 0.0005, 3), patience=left)
        except (ServiceUnavailable, StoreUnavailable):
            if not begun:
                raise
            if end is not None and time.monotonic() >= end:
                raise _too_late(run_id, limit) from None
            yield REST if end is None else min(REST, max(end - time.monotonic(), 0.0))
            continue
        except RunNotFound:
            if not begun:
                raise
            raise RunNotFound(f"run {run_id} ended and was removed while it was waited for.") from None
        begun = True
        if run.status.final:
            return run
        if end is not None and time.monotonic() >= end:
            raise _too_late(run_id, limit)
        if time.monotonic() - asked_at < left / 2:
            yield PACE  # it did not wait, being about to stop perhaps: do not ask without end


def _too_late(run_id: str, limit: float | None) -> WaitTimeout:
    return WaitTimeout(f"run {run_id} did not end within {limit:g} s; ask client.why(id) what holds it up.")

"""Parts of the client whose verbs go on: watch a run, follow new events."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Generator, Iterator

from workbell.errors import InvalidOption
from workbell.model.event import Event
from workbell.remote.plans.runs import PACE
from workbell.remote.tail import RemoteTail
from workbell.remote.verbs import RemoteEvents, RemoteRuns
from workbell.wire.runs import FoundRun

POLL = 1.0  # seconds between two polls for new events


class WatchedRuns(RemoteRuns):
    """The runs of a tenant: `client.runs`."""

    def watch(self, run_id: str, *, pace: float = PACE) -> Iterator[FoundRun]:
        """A run as it is now, and again whenever it has changed, until it has ended; read every `pace` seconds."""
        _check_pace(pace)
        last: FoundRun | None = None
        while True:
            run = self.get(run_id)
            if run != last:
                last = run
                yield run
            if run.status.final:
                return
            time.sleep(pace)

    async def awatch(self, run_id: str, *, pace: float = PACE) -> AsyncIterator[FoundRun]:
        """`watch` for async code: `async for run in client.awatch(run_id)`."""
        _check_pace(pace)
        last: FoundRun | None = None
        while last is None or not last.status.final:
            if last is not None:
                await asyncio.sleep(pace)
            run = await self.aget(run_id)
            if run != last:
                last = run
                yield run


def _check_pace(pace: float) -> None:
    if not pace > 0:
        raise InvalidOption(f"pace: {pace} is not more than 0.")


class FollowedEvents(RemoteEvents):
    """The events of a tenant: `client.events`."""

    def tail(self, *, type: str | None = None) -> Generator[Event, None, None]:  # noqa: A002
        """The events that come from now on, as they come, for as long as you ask for the next one.

        `type` is a type or a pattern. The service is asked every second.
        """
        tail = RemoteTail(lambda before, limit: self.list(type=type, before=before, limit=limit), time.monotonic())
        return _new_ones(tail)


def _new_ones(tail: RemoteTail) -> Generator[Event, None, None]:
    while True:
        yield from tail.poll(time.monotonic())
        time.sleep(POLL)

"""Server-sent events of a run: its state, then changes and log lines until its end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractContextManager

import msgspec
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from workbell.errors import RunNotFound, WorkbellError
from workbell.http.framework.answers import encode
from workbell.http.framework.call import ApiCall
from workbell.http.framework.problems import log_failure, public_words
from workbell.http.policies.access_watch import OpenAccess
from workbell.model.log_line import LogLine
from workbell.model.run import Run

PACE = 1.0  # seconds between two polls, if no hint comes
GAP = 0.1  # seconds that must pass between two
PAGE = 1000  # lines of a log, read at once
ALIVE = 15.0  # seconds after which a comment shows that the stream is alive


async def events_of(call: ApiCall, run: Run) -> AsyncIterator[bytes]:
    """Ends with the run, with the server, or with the access of the caller.

    The answer has begun, so an error cannot become a problem any more. A run that was removed ends the stream as one
    that ended; another error ends it with a comment, after which clients connect again.
    """
    with call.service.access_watch.watch(call.access, call.request) as opened:
        try:
            async for part in _parts(call, run, opened):
                yield part
        except RunNotFound:
            yield END
        except WorkbellError as error:
            log_failure(error)
            yield _comment(public_words(error))


async def _parts(call: ApiCall, run: Run, opened: OpenAccess) -> AsyncIterator[bytes]:
    service, client = call.service, call.client
    last: Run | None = None
    line: LogLine | None = None
    quiet = 0.0
    while True:
        while lines := await client.alogs(run.id, after=line, limit=PAGE):
            for line in lines:
                yield _event("log", encode(line))
            quiet = 0.0
            if len(lines) < PAGE or service.stopping.is_set() or opened.over.done():
                break
        now = msgspec.structs.replace(run, lease_until=None)  # renewed again and again, and no news
        if now != last:
            last = now
            yield _event("run", encode(run.as_dict()))
            quiet = 0.0
        if run.status.final:
            yield END
            return
        if await service.pause(GAP) or await service.hint(PACE - GAP):
            return
        if opened.over.done():
            yield _comment(opened.over.result())
            return
        quiet += PACE
        if quiet >= ALIVE:
            yield _comment("still here")
            quiet = 0.0
        run = await client.aget(run.id)


class StreamOfRun(StreamingResponse):
    """The response of a stream, counted (`held`) from the request until its last byte, or until the client leaves."""

    def __init__(self, lines: AsyncIterator[bytes], held: AbstractContextManager[None]) -> None:
        super().__init__(lines, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})
        held.__enter__()
        self._held = held

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._held.__exit__(None, None, None)


def _event(name: str, data: bytes) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + data + b"\n\n"


def _comment(text: str) -> bytes:
    return f": {' '.join(text.split())}\n\n".encode()


END = _event("end", b"{}")

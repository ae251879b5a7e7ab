"""Methods that read one run, over HTTP: get, attempts, logs and why."""

from __future__ import annotations

from workbell.model.log_line import LogLine
from workbell.model.run import Attempt, Run
from workbell.remote import readers, words
from workbell.remote.call import Plan, RemoteCall, get, path
from workbell.remote.listing import RemoteFinding

LINES = 1000

_read_logs = readers.plain_page(LogLine)
_read_why = readers.plain(words.WhyWords)


class RemoteReading(RemoteFinding):
    """The part of a client that reads runs."""

    def get(self, run_id: str) -> Run:
        """A run by its id."""
        return self.transport.send(_get(run_id))

    async def aget(self, run_id: str) -> Run:
        return await self.transport.asend(_get(run_id))

    def attempts(self, run_id: str) -> list[Attempt]:
        """Every attempt of a run, oldest first: who worked on it, and how it ended."""
        return self.transport.send(_attempts(run_id))

    async def aattempts(self, run_id: str) -> list[Attempt]:
        return await self.transport.asend(_attempts(run_id))

    def logs(self, run_id: str, *, after: LogLine | None = None, limit: int = LINES) -> list[LogLine]:
        """Log lines of a run's handler (`ctx.logger`), oldest first; `after` is the last line of the page before."""
        return self.transport.follow(_logs(run_id, after, limit))

    async def alogs(self, run_id: str, *, after: LogLine | None = None, limit: int = LINES) -> list[LogLine]:
        return await self.transport.afollow(_logs(run_id, after, limit))

    def why(self, run_id: str) -> str:
        """Why a run is not running (or how it ended), in a sentence or two."""
        return self.transport.send(_why(run_id)).why

    async def awhy(self, run_id: str) -> str:
        return (await self.transport.asend(_why(run_id))).why


def _get(run_id: str) -> RemoteCall[Run]:
    return get(path("runs", run_id), words.read_run)


def _attempts(run_id: str) -> RemoteCall[list[Attempt]]:
    return get(path("runs", run_id, "attempts"), words.read_attempts)


def _logs(run_id: str, after: LogLine | None, limit: int) -> Plan[list[LogLine]]:
    cursor = None if after is None else f"{after.attempt}:{after.line}"
    return readers.up_to(limit, path("runs", run_id, "logs"), _read_logs, cursor="after", start=cursor)


def _why(run_id: str) -> RemoteCall[words.WhyWords]:
    return get(path("runs", run_id, "why"), _read_why)

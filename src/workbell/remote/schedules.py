"""Methods about schedules, over HTTP: `client.schedules`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Unpack

from workbell.model.clock import aware
from workbell.model.schedule import Schedule, Tick
from workbell.remote import readers, words
from workbell.remote.call import Plan, RemoteCall, delete, get, path, post
from workbell.remote.options import body, name_of
from workbell.remote.transport import ServiceTransport

if TYPE_CHECKING:
    from workbell.scheduling.declare import ScheduleChanges, ScheduleSettings

PAGE = 1000

_read_ticks = readers.plain_page(Tick)
_read_times = readers.plain_items(datetime)


class RemoteSchedules:
    """The schedules of a tenant: `client.schedules`."""

    def __init__(self, transport: ServiceTransport) -> None:
        self._transport = transport

    def put(self, name: str, *, job: str, **settings: Unpack[ScheduleSettings]) -> Schedule:
        """Make or change a schedule: `client.schedules.put("nightly", job="send", cron="0 3 * * *")`.

        A schedule is known by its name. Put again with the same settings, nothing changes, and its next tick stays.
        """
        return self._transport.send(_put(name, job, settings))

    async def aput(self, name: str, *, job: str, **settings: Unpack[ScheduleSettings]) -> Schedule:
        return await self._transport.asend(_put(name, job, settings))

    def update(self, name: str, *, job: str | None = None, **changes: Unpack[ScheduleChanges]) -> Schedule:
        """Change what is named, and leave the rest: `client.schedules.update("nightly", window=("01:00", "05:00"))`.

        None takes a setting back to its default. Where nothing is said about when it ticks, its next tick stays.
        """
        return self._transport.send(_update(name, job, changes))

    async def aupdate(self, name: str, *, job: str | None = None, **changes: Unpack[ScheduleChanges]) -> Schedule:
        return await self._transport.asend(_update(name, job, changes))

    # Read

    def get(self, name: str) -> Schedule:
        """A schedule by its name."""
        return self._transport.send(_get(name))

    async def aget(self, name: str) -> Schedule:
        return await self._transport.asend(_get(name))

    def list(self, *, after: str = "", limit: int = PAGE) -> list[Schedule]:
        """Schedules by name; `after` is the last name of the page before."""
        return self._transport.follow(_list(after, limit))

    async def alist(self, *, after: str = "", limit: int = PAGE) -> Sequence[Schedule]:
        return await self._transport.afollow(_list(after, limit))

    def preview(self, name: str, n: int = 5, *, after: datetime | None = None) -> Sequence[datetime]:
        """When the next runs will be due, by the rule and the window; in UTC."""
        return self._transport.send(_preview(name, n, after))

    async def apreview(self, name: str, n: int = 5, *, after: datetime | None = None) -> Sequence[datetime]:
        return await self._transport.asend(_preview(name, n, after))

    def ticks(self, name: str, *, before: datetime | None = None, limit: int = 100) -> Sequence[Tick]:
        """Outcomes of a schedule's ticks, newest first: fired, skipped (why), coalesced or deferred."""
        return self._transport.follow(_ticks(name, before, limit))

    async def aticks(self, name: str, *, before: datetime | None = None, limit: int = 100) -> Sequence[Tick]:
        return await self._transport.afollow(_ticks(name, before, limit))

    # Steer

    def pause(self, name: str) -> Schedule:
        """No tick makes a run until `resume`; what is queued or running goes on."""
        return self._transport.send(_steer(name, "pause"))

    async def apause(self, name: str) -> Schedule:
        return await self._transport.asend(_steer(name, "pause"))

    def resume(self, name: str) -> Schedule:
        """Go on from the next tick; those that passed meanwhile are in the ledger as skipped."""
        return self._transport.send(_steer(name, "resume"))

    async def aresume(self, name: str) -> Schedule:
        return await self._transport.asend(_steer(name, "resume"))

    def delete(self, name: str) -> None:
        """Remove a schedule; its runs stay."""
        self._transport.send(delete(path("schedules", name)))

    async def adelete(self, name: str) -> None:
        await self._transport.asend(delete(path("schedules", name)))


def _put(name: str, job: object, settings: Any) -> RemoteCall[Schedule]:
    encoded = body(f"schedule {name}", {"job": name_of(job), **settings})
    return RemoteCall(method="PUT", path=path("schedules", name), read=words.read_schedule, body=encoded)


def _update(name: str, job: object, changes: Any) -> RemoteCall[Schedule]:
    encoded = body(f"schedule {name}", {**({} if job is None else {"job": name_of(job)}), **changes})
    return RemoteCall(method="PATCH", path=path("schedules", name), read=words.read_schedule, body=encoded)


def _get(name: str) -> RemoteCall[Schedule]:
    return get(path("schedules", name), words.read_schedule)


def _list(after: str, limit: int) -> Plan[list[Schedule]]:
    return readers.up_to(limit, path("schedules"), words.read_schedules, cursor="after", start=after or None)


def _preview(name: str, n: int, after: datetime | None) -> RemoteCall[list[datetime]]:
    since = None if after is None else aware("after", after)
    return get(path("schedules", name, "preview"), _read_times, n=n, after=since)


def _ticks(name: str, before: datetime | None, limit: int) -> Plan[list[Tick]]:
    upto = None if before is None else aware("before", before)
    return readers.up_to(limit, path("schedules", name, "ticks"), _read_ticks, start=upto)


def _steer(name: str, verb: str) -> RemoteCall[Schedule]:
    return post(path("schedules", name, verb), words.read_schedule)

"""Methods about jobs, over HTTP: `client.jobs`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Unpack

from workbell.model.job import Job
from workbell.remote import words
from workbell.remote.call import Plan, RemoteCall, delete, get, path, post
from workbell.remote.options import body, name_of
from workbell.remote.readers import every
from workbell.remote.transport import ServiceTransport

if TYPE_CHECKING:
    from workbell.runs.jobs import JobOptions


class RemoteJobs:
    """The jobs of a tenant: `client.jobs`. Their URLs are shown, and never in full."""

    def __init__(self, transport: ServiceTransport) -> None:
        self._transport = transport

    def put(
        self,
        name: str,
        *,
        handler: str,
        payload: dict[str, Any] | None = None,
        enabled: bool | None = None,
        **options: Unpack[JobOptions],
    ) -> Job:
        """Make or replace a definition: `client.jobs.put("email-eu", handler="email", payload={"region": "eu"})`.

        `handler` is the job whose code runs. `payload` is the template that the input of each run is merged onto
        (RFC 7396). The options are those of `@bell.job`; what is left out is not set. `enabled` stays as it is unless
        it is given. Put again with the same settings, nothing changes.
        """
        return self._transport.send(_put(name, handler, payload, enabled, options))

    async def aput(
        self,
        name: str,
        *,
        handler: str,
        payload: dict[str, Any] | None = None,
        enabled: bool | None = None,
        **options: Unpack[JobOptions],
    ) -> Job:
        return await self._transport.asend(_put(name, handler, payload, enabled, options))

    # Read

    def get(self, name: str) -> Job:
        """A job by its name: a definition, or one that code declares."""
        return self._transport.send(_get(name))

    async def aget(self, name: str) -> Job:
        return await self._transport.asend(_get(name))

    def list(self) -> list[Job]:
        """All jobs, by name: definitions, and those that code declares. One that no worker has stored has no id."""
        return self._transport.follow(_list())

    async def alist(self) -> Sequence[Job]:
        return await self._transport.afollow(_list())

    # Steer

    def enable(self, name: str) -> Job:
        """Let a definition take runs again; those that wait go on."""
        return self._transport.send(_steer(name, "enable"))

    async def aenable(self, name: str) -> Job:
        return await self._transport.asend(_steer(name, "enable"))

    def disable(self, name: str) -> Job:
        """Take no new runs of a definition; those that wait go on waiting, and what is running ends."""
        return self._transport.send(_steer(name, "disable"))

    async def adisable(self, name: str) -> Job:
        return await self._transport.asend(_steer(name, "disable"))

    def delete(self, name: str) -> None:
        """Remove a definition; its runs stay, and those that wait go on waiting until it is put again.

        Refused while a schedule or a trigger names it.
        """
        self._transport.send(delete(path("jobs", name)))

    async def adelete(self, name: str) -> None:
        await self._transport.asend(delete(path("jobs", name)))


def _put(
    name: str, handler: object, payload: dict[str, Any] | None, enabled: bool | None, options: JobOptions
) -> RemoteCall[Job]:
    given = {"handler": name_of(handler), "payload": payload, "enabled": enabled, **options}
    encoded = body(f"job {name}", {word: value for word, value in given.items() if value is not None})
    return RemoteCall(method="PUT", path=path("jobs", name), read=words.read_job, body=encoded)


def _get(name: str) -> RemoteCall[Job]:
    return get(path("jobs", name), words.read_job)


def _list() -> Plan[list[Job]]:
    return every(path("jobs"), words.read_jobs)


def _steer(name: str, verb: str) -> RemoteCall[Job]:
    return post(path("jobs", name, verb), words.read_job)

"""Methods about pauses and workers, over HTTP."""

from __future__ import annotations

import msgspec

from workbell.errors import InvalidOption
from workbell.model.job import name
from workbell.model.pause import Pause
from workbell.model.worker import SeenWorker
from workbell.remote import readers, words
from workbell.remote.call import Plan, RemoteCall, path, post
from workbell.remote.transport import ServiceTransport


class EndedPauses(msgspec.Struct, frozen=True):
    """Number of pauses that ended."""

    ended: int


_read_pause, _read_pauses = readers.plain(Pause), readers.plain_page(Pause)
_read_ended = readers.plain(EndedPauses)


class RemotePausing:
    """The part of a client that pauses and resumes."""

    transport: ServiceTransport

    def pause(self, *, queue: str | None = None, job: str | None = None) -> Pause:
        """Start no more runs of a queue, a job, or a job in one queue, until `resume`; what is running goes on."""
        return self.transport.send(_pause(queue, job))

    async def apause(self, *, queue: str | None = None, job: str | None = None) -> Pause:
        return await self.transport.asend(_pause(queue, job))

    def resume(self, *, queue: str | None = None, job: str | None = None) -> int:
        """End the pauses of a queue (also those of single jobs in it), of a job, or of a job in one queue; how many."""
        return self.transport.send(_resume(queue, job)).ended

    async def aresume(self, *, queue: str | None = None, job: str | None = None) -> int:
        return (await self.transport.asend(_resume(queue, job))).ended

    def pauses(self) -> list[Pause]:
        """All pauses, and since when."""
        return self.transport.follow(_pauses())

    async def apauses(self) -> list[Pause]:
        return await self.transport.afollow(_pauses())

    def workers(self) -> list[SeenWorker]:
        """The workers of the store, of all machines. Lost ones are listed for a day."""
        return self.transport.follow(_workers())

    async def aworkers(self) -> list[SeenWorker]:
        return await self.transport.afollow(_workers())

    def drain_worker(self, worker_id: str) -> SeenWorker:
        """Drain a worker: it claims nothing until `resume_worker`; what it has not begun goes back to its queue.

        It needs a token of all tenants, for whom a worker works. Once it has said that it begins nothing more
        (`worker.drain_seen_at`) and is busy with nothing any more, its machine can be taken away.
        """
        return self.transport.send(_turn(worker_id, "drain"))

    async def adrain_worker(self, worker_id: str) -> SeenWorker:
        return await self.transport.asend(_turn(worker_id, "drain"))

    def resume_worker(self, worker_id: str) -> SeenWorker:
        """Let a drained worker claim runs again."""
        return self.transport.send(_turn(worker_id, "resume"))

    async def aresume_worker(self, worker_id: str) -> SeenWorker:
        return await self.transport.asend(_turn(worker_id, "resume"))


def _where(verb: str, queue: str | None, job: str | None) -> tuple[str, dict[str, str]]:
    """The path of what is meant, and what stands in the body; of a job in a queue, the queue's path and the job."""
    for kind, value in (("queue", queue), ("job", job)):
        if value is not None:
            name(kind, value, InvalidOption)
    if queue is not None:
        return path("queues", queue, verb), {} if job is None else {"job": job}
    if job is not None:
        return path("jobs", job, verb), {}
    raise InvalidOption(f"{verb}: of what? Give queue=, job=, or both for a job in one queue.")


def _pause(queue: str | None, job: str | None) -> RemoteCall[Pause]:
    where, body = _where("pause", queue, job)
    return post(where, _read_pause, body)


def _resume(queue: str | None, job: str | None) -> RemoteCall[EndedPauses]:
    where, body = _where("resume", queue, job)
    return post(where, _read_ended, body)


def _pauses() -> Plan[list[Pause]]:
    return readers.every(path("pauses"), _read_pauses)


def _workers() -> Plan[list[SeenWorker]]:
    return readers.every(path("workers"), words.read_workers)


def _turn(worker_id: str, verb: str) -> RemoteCall[SeenWorker]:
    return post(path("workers", worker_id, verb), words.read_worker)

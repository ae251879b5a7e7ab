"""The verbs about pauses: `bell.pauses()` lists them; a queue, a job, or a job in a queue is paused and resumed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbell.errors import InvalidOption
from workbell.model.job import name
from workbell.runs.runtime import Runtime, in_thread

if TYPE_CHECKING:
    from workbell.model.pause import Pause


class Pauses:
    """The pauses of a tenant: `bell.pauses`."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def __call__(self) -> list[Pause]:
        """List the pauses of queues and jobs, and since when each holds."""
        return self._runtime.store.pauses.list(self._runtime.tenant)

    acall = in_thread(__call__)

    def pause(self, *, queue: str | None = None, job: str | None = None) -> Pause:
        """Start no more runs of a queue, of a job, or of a job in one queue, until `resume`; what is running goes on.

        Runs are still taken, and wait. At the latest one poll (the setting `poll`) after this returns, no handler of
        them begins anywhere.
        """
        _check("pause", queue, job)
        store = self._runtime.store
        made = store.pauses.add(self._runtime.tenant, queue, job, store.clock.now())
        self._runtime.wake()
        return made

    apause = in_thread(pause)

    def resume(self, *, queue: str | None = None, job: str | None = None) -> int:
        """End the pauses of a queue (also those of single jobs in it), of a job, or of a job in one queue; how many."""
        _check("resume", queue, job)
        ended = self._runtime.store.pauses.remove(self._runtime.tenant, queue, job)
        self._runtime.wake()
        return ended

    aresume = in_thread(resume)


def _check(verb: str, queue: str | None, job: str | None) -> None:
    if queue is None and job is None:
        raise InvalidOption(f"{verb}: of what? Give queue=, job=, or both for a job in one queue.")
    for kind, value in (("queue", queue), ("job", job)):
        if value is not None:
            name(kind, value, InvalidOption)

"""The verbs about workers: `bell.workers()` lists them, `bell.workers.drain` and resume one; async with an `a`."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from workbell.errors import InvalidOption, WorkerNotFound
from workbell.model.ids import is_id
from workbell.model.run import Run, Status
from workbell.model.worker import SeenWorker, Worker
from workbell.runs.runtime import Runtime, in_thread
from workbell.stores.port import Filter

if TYPE_CHECKING:
    from workbell.model.rewind import Rewind

MOST_REWINDS = 1000  # records in one page
MOST_RUNNING = 10_000  # runs of the tenant that are listed with their workers


class Workers:
    """The workers of the store, of all machines: `bell.workers`."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def __call__(self) -> list[SeenWorker]:
        """The workers of the store, of all machines. Lost ones are listed for a day."""
        store = self._runtime.store
        known, now = store.workers.list(), store.clock.now()
        if not known:
            return []
        held = store.workers.held()
        own: defaultdict[str | None, list[Run]] = defaultdict(list)
        for run in store.runs.list(Filter(self._runtime.tenant, [Status.RUNNING], limit=MOST_RUNNING)):
            own[run.worker].append(run)
        return [
            SeenWorker(worker, worker.is_alive(now), held.get(worker.id, 0), own[worker.id][::-1]) for worker in known
        ]

    acall = in_thread(__call__)

    def drain(self, worker_id: str) -> SeenWorker:
        """Have a worker claim nothing until `resume_worker`; what it runs goes on, what it has not begun goes back.

        It obeys soon, at the latest after ten seconds, says so (`worker.drain_seen_at`: it begins nothing more), and
        stays there. Once it has said so and holds nothing any more (`busy` is 0), its machine can be taken away. It
        works for all tenants, and is drained for all. One that is started again is another worker, and claims.
        """
        store = self._runtime.store
        self._check_alive(worker_id)
        return self._changed(worker_id, store.workers.drain(worker_id, store.clock.now()))

    adrain = in_thread(drain)

    def resume(self, worker_id: str) -> SeenWorker:
        """Let a drained worker claim runs again."""
        self._check_alive(worker_id)
        return self._changed(worker_id, self._runtime.store.workers.resume(worker_id))

    aresume = in_thread(resume)

    def rewinds(self, *, before: str | None = None, limit: int = 100) -> list[Rewind]:
        """Runs of this tenant about which a worker knew more than the store that went back, newest first.

        A store goes back when an older backup is restored, or a failover loses commits. The records stay for 30 days.
        """
        if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MOST_REWINDS:
            raise InvalidOption(f"limit: {limit!r} is not from 1 to {MOST_REWINDS:,}.")
        if before is not None and not is_id(before):
            raise InvalidOption(f"before: {before!r} is not the id of a record.")
        return self._runtime.store.rewinds.list(self._runtime.tenant, before=before, limit=limit)

    arewinds = in_thread(rewinds)

    def _check_alive(self, worker_id: str) -> None:
        known = self._runtime.store.workers.find(worker_id)
        if known is None:
            raise _no_worker(worker_id)
        if not known.is_alive(self._runtime.store.clock.now()):
            raise WorkerNotFound(
                f"worker {worker_id} is lost: it was last seen at {known.seen_at:%Y-%m-%d %H:%M:%S} UTC. What it held "
                "goes to others when its leases end."
            )

    def _changed(self, worker_id: str, worker: Worker | None) -> SeenWorker:
        if worker is None:  # it stopped at this moment
            raise _no_worker(worker_id)
        self._runtime.store.wake()
        self._runtime.wake()
        leased = self._runtime.store.runs.held_by(worker.id)
        return SeenWorker(worker, True, len(leased), [run for run in leased if run.tenant == self._runtime.tenant])


def _no_worker(worker_id: str) -> WorkerNotFound:
    return WorkerNotFound(f"There is no worker {worker_id[:200]!r}; bell.workers() lists them.")

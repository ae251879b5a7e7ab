"""Definitions: jobs as data, cached. Each gives a name, an input template and options to the code of another job.

A version number in the store changes with them. It is read at most once a second, and only by those who meet a job
that their own code does not declare: so a changed definition is seen by other processes within a second.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from workbell.model.job import Job
from workbell.process.fork_safety import remake_after_fork
from workbell.stores.port import Store

CACHED_FOR = 1.0  # seconds

DefinitionKey = tuple[str, str]  # tenant and name


class Definitions:
    """The definitions of all tenants; read again when the store's version number has changed."""

    def __init__(self, which: Callable[[], Store]) -> None:
        """`which` is called each time: a test, or a read command, may have given its owner another store."""
        self._which = which
        self.make_process_state()
        remake_after_fork(self)

    def make_process_state(self) -> None:
        """In the beginning, and in a forked child: a thread may have been about to read."""
        self._lock = threading.Lock()
        self._known: Mapping[DefinitionKey, Job] = {}
        self._version: int | None = None
        self._read_from: Store | None = None
        self._checked_at = 0.0
        self._asked_at = 0.0

    def find(self, tenant: str, name: str) -> Job | None:
        """A definition, at most a second old."""
        known = self.recent()
        self._asked_at = self._which().clock.monotonic()
        return known.get((tenant, name))

    def recheck_in(self, since: float) -> float | None:
        """Seconds until the cache is read again, if it has answered since then (`monotonic`) by what it knew before.

        None: it has not. For who was told by a hint that something is new, and found nothing.
        """
        if self._asked_at < since or self._checked_at >= since:
            return None
        return max(self._checked_at + CACHED_FOR - self._which().clock.monotonic(), 0.0)

    def expire(self) -> None:
        """Read the version number at the next use."""
        with self._lock:
            self._checked_at = -CACHED_FOR

    def cached(self, tenant: str, name: str) -> Job | None:
        """A definition, if all were read less than a second ago; nothing is read."""
        return self._known.get((tenant, name)) if self._is_fresh(self._which()) else None

    def recent(self) -> Mapping[DefinitionKey, Job]:
        """All definitions, at most a second old."""
        store = self._which()
        if self._is_fresh(store):
            return self._known
        with self._lock:
            if self._is_fresh(store):  # another thread has just read them
                return self._known
            moment = store.clock.monotonic()
            version = store.definitions.version()
            if version != self._version or store is not self._read_from:
                self._known = {(job.tenant, job.name): job for job in store.definitions.list()}
                self._version = version
            self._read_from, self._checked_at = store, moment
            return self._known

    def _is_fresh(self, store: Store) -> bool:
        return store is self._read_from and store.clock.monotonic() - self._checked_at < CACHED_FOR

    def forget(self) -> None:
        """Read them at the next use: this process has just changed one."""
        with self._lock:  # a thread that reads at this moment would note what was there before
            self._read_from = None

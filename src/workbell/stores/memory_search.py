"""Searching and counting runs in the memory store, with the bounds that the others have."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from workbell.model.retry_run import RetryRun
from workbell.model.run import Run
from workbell.model.run_page import Counted
from workbell.stores.matching import matches, matches_all
from workbell.stores.port import MOST_COUNTED, SCAN, Filter, Found


class MemorySearch:
    """Runs by filter, newest first."""

    _lock: threading.RLock
    _live: dict[str, Run]
    _finished: dict[str, Run]

    def find_retries(self, ids: Iterable[str]) -> dict[str, RetryRun]:
        wanted = set(ids)
        found = [run for run in reversed(self._newest_first()) if run.retry_of in wanted]
        return {run.retry_of or "": RetryRun(run.id, run.status, run.created_at, run.key_text) for run in found}

    def list_runs(self, wanted: Filter) -> list[Run]:
        return [run for run in self._newest_first() if matches(run, wanted)][: wanted.limit]

    def search_runs(self, wanted: Filter, scan: int = SCAN) -> Found:
        found, end = self._look(wanted, scan)
        if len(found) > wanted.limit:
            return Found(found[: wanted.limit], found[wanted.limit - 1].id)
        return Found(found, end)

    def count_runs(self, wanted: Filter, most: int = MOST_COUNTED, scan: int = SCAN) -> Counted:
        found, end = self._look(wanted, scan)
        return Counted(min(len(found), most), end is not None or len(found) > most)

    def _look(self, wanted: Filter, scan: int) -> tuple[list[Run], str | None]:
        """What matches among the candidates, and the id of the last one that was looked at, if it is not the end."""
        served = wanted._replace(status=(), user_id=None, event=None, retried=None)
        candidates = [run for run in self._newest_first() if matches(run, served)]
        if served == wanted and not wanted.fields:
            return candidates, None
        window = candidates[:scan]
        end = window[-1].id if len(window) == scan else None
        found = [run for run in window if matches_all(run, wanted)]
        if wanted.retried is not None:
            retried = self.find_retries(run.id for run in found)
            found = [run for run in found if (run.id in retried) == wanted.retried]
        return found, end

    def _newest_first(self) -> list[Run]:
        with self._lock:
            return sorted((self._live | self._finished).values(), key=lambda run: run.id, reverse=True)

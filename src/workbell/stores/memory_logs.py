"""Log lines of runs in dicts: a part of the memory store."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence

from workbell.model.log_line import LogLine
from workbell.model.run import Run


class MemoryLogs:
    """What it shares with the rest of the store is named here and made there."""

    _lock: threading.RLock
    _live: dict[str, Run]
    _finished: dict[str, Run]
    _logs: dict[str, dict[tuple[int, int], LogLine]]

    def add_logs(self, lines: Sequence[tuple[int, LogLine]]) -> int:
        with self._lock:
            return self._keep_lines(line for token, line in lines if self._token(line.run) == token)

    def _token(self, run_id: str) -> int | None:
        run = self._live.get(run_id) or self._finished.get(run_id)
        return None if run is None else run.token

    def _keep_lines(self, lines: Iterable[LogLine]) -> int:
        taken = 0
        for line in lines:
            known = self._logs.setdefault(line.run, {})
            taken += (line.attempt, line.line) not in known
            known.setdefault((line.attempt, line.line), line)
        return taken

    def list_logs(self, run_id: str, *, after: tuple[int, int], limit: int) -> list[LogLine]:
        with self._lock:
            found = sorted((place, line) for place, line in self._logs.get(run_id, {}).items() if place > after)
        return [line for _, line in found[:limit]]

"""History of reloads since the start of the process: the newest entries, for the dashboard."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

from workbell.job_files.job_file import FileProblem, FolderChange, JobFile
from workbell.model.reload import Reload, ReloadOutcome

MOST = 100


class Reloads:
    """History that the job folder writes and any thread reads."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self._entries: list[Reload] = []
        self._lock = threading.Lock()
        self._known: frozenset[FileProblem] = frozenset()
        self._first = True

    def newest(self, limit: int | None = None) -> list[Reload]:
        with self._lock:
            return [entry._replace(standing=self._stands(entry)) for entry in self._entries[::-1][:limit]]

    def _stands(self, entry: Reload) -> bool:
        return entry.message is not None and FileProblem(entry.path, entry.line, entry.message) in self._known

    def note(self, change: FolderChange, problems: Sequence[FileProblem], folder: Path) -> None:
        """Add the entries of a reload. The first load adds problems only."""
        with self._lock:
            for path, outcome, message, line, jobs in _new_entries(change, problems, self._known, folder):
                if not self._first or outcome is ReloadOutcome.FAILED:
                    number = next(self._numbers)
                    self._entries.append(Reload(number, datetime.now(UTC), path, outcome, message, line, jobs))
            self._known, self._first = frozenset(problems), False
            # Entries of problems that are still there are never dropped.
            self._entries = [entry for entry in self._entries[:-MOST] if self._stands(entry)] + self._entries[-MOST:]


Entry = tuple[str, ReloadOutcome, str | None, int | None, tuple[str, ...]]


def _new_entries(
    change: FolderChange, problems: Sequence[FileProblem], known: frozenset[FileProblem], folder: Path
) -> Iterator[Entry]:
    broken = {problem.path for problem in problems}
    jobs = {file.path: (file.name,) for file in change.loaded}
    listed = set[str]()

    def of_files(files: Sequence[JobFile], outcome: ReloadOutcome) -> Iterator[Entry]:
        for file in files:
            listed.add(file.path)
            if file.path not in broken:  # such as one whose job name is declared in code
                yield file.path, outcome, None, None, (file.name,)

    yield from of_files(change.removed, ReloadOutcome.REMOVED)
    yield from of_files(change.added, ReloadOutcome.LOADED)
    yield from of_files(change.changed, ReloadOutcome.CHANGED)
    for problem in problems:
        if problem not in known:
            yield problem.path, ReloadOutcome.FAILED, problem.message, problem.line, jobs.get(problem.path, ())
    for path in sorted({problem.path for problem in known} - broken - listed):
        # The file was restored, or its helper repaired; or a file that never loaded was removed.
        if (folder / path).exists():
            yield path, ReloadOutcome.LOADED, "it is in order again", None, jobs.get(path, ())
        else:
            yield path, ReloadOutcome.REMOVED, None, None, ()

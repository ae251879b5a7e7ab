"""What became of job files since the start: the newest entries, for who looks at what was saved."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from itertools import count
from pathlib import Path
from typing import NamedTuple

from workbell.job_files.job_file import FileProblem, FolderChange, JobFile

MOST = 100


class ReloadOutcome(StrEnum):
    LOADED = "loaded"  # it is new, or in order again
    CHANGED = "changed"
    REMOVED = "removed"
    FAILED = "failed"  # its last good version goes on, if there is one


class Reload(NamedTuple):
    """What became of one file, or one thing that is wrong with it."""

    number: int  # counted from the start of the process
    at: datetime
    path: str
    outcome: ReloadOutcome
    message: str | None = None
    line: int | None = None
    jobs: tuple[str, ...] = ()
    standing: bool = False  # it failed, and is still so


class Reloads:
    """Told of every load by the engine of the job files; read from any thread."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self._kept: list[Reload] = []
        self._lock = threading.Lock()
        self._known: frozenset[FileProblem] = frozenset()
        self._first = True

    def newest(self, limit: int | None = None) -> list[Reload]:
        with self._lock:
            return [one._replace(standing=self._stands(one)) for one in self._kept[::-1][:limit]]

    def _stands(self, one: Reload) -> bool:
        return one.message is not None and FileProblem(one.path, one.line, one.message) in self._known

    def note(self, change: FolderChange, problems: Sequence[FileProblem], folder: Path) -> None:
        """What a look at a project's files came to. At the first look no file is new; only what is wrong is told."""
        with self._lock:
            for path, outcome, message, line, jobs in _entries(change, problems, self._known, folder):
                if not self._first or outcome is ReloadOutcome.FAILED:
                    number = next(self._numbers)
                    self._kept.append(Reload(number, datetime.now(UTC), path, outcome, message, line, jobs))
            self._known, self._first = frozenset(problems), False
            # What is still wrong is not forgotten, however much was saved since.
            self._kept = [one for one in self._kept[:-MOST] if self._stands(one)] + self._kept[-MOST:]


Entry = tuple[str, ReloadOutcome, str | None, int | None, tuple[str, ...]]


def _entries(
    change: FolderChange, problems: Sequence[FileProblem], known: frozenset[FileProblem], folder: Path
) -> Iterator[Entry]:
    broken = {problem.path for problem in problems}
    jobs = {file.path: (file.name,) for file in change.loaded}
    told = set[str]()

    def of_files(files: Sequence[JobFile], outcome: ReloadOutcome) -> Iterator[Entry]:
        for file in files:
            told.add(file.path)
            if file.path not in broken:  # such as one whose name the code has taken
                yield file.path, outcome, None, None, (file.name,)

    yield from of_files(change.removed, ReloadOutcome.REMOVED)
    yield from of_files(change.added, ReloadOutcome.LOADED)
    yield from of_files(change.changed, ReloadOutcome.CHANGED)
    for problem in problems:
        if problem not in known:
            yield problem.path, ReloadOutcome.FAILED, problem.message, problem.line, jobs.get(problem.path, ())
    for path in sorted({problem.path for problem in known} - broken - told):
        # Put back as it was, or a helper that is mended; or a file that never was in order, and is gone.
        if (folder / path).exists():
            yield path, ReloadOutcome.LOADED, "it is in order again", None, jobs.get(path, ())
        else:
            yield path, ReloadOutcome.REMOVED, None, None, ()

"""Data of a load: jobs, problems, and changes since the last load."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from workbell.handlers.process_isolation import Isolation
from workbell.model.alert import repr_without_urls
from workbell.model.job import QUEUE
from workbell.model.limit import Limits
from workbell.model.retry import Retry
from workbell.model.run import Outside
from workbell.model.run_defaults import RunDefaults
from workbell.model.run_settings import SETTINGS
from workbell.model.schedule import CatchUp, Overlap

DEFAULT_RETRY = Retry(attempts=3, delay=5, factor=1, jitter=0)  # of a file without `retry`


class JobFile(RunDefaults, frozen=True, kw_only=True, eq=False, omit_defaults=False, gc=True):
    """One job file without problems: its function and its settings. None: the file does not set it.

    Two of them are never equal: a file that was loaded again has a new function.
    """

    path: str  # from the project's folder: "jobs/reports/weekly.py"
    name: str
    module: str
    function: Callable[..., Any]
    schedule: str | None = None
    on: tuple[str, ...] = ()  # patterns of the events that start it; it has these, a schedule, or both
    timezone: str | None = None
    window: tuple[str, str] | None = None
    outside: Outside | None = None
    overlap: Overlap | None = None
    catch_up: CatchUp | None = None
    jitter: float | None = None
    concurrency: int | None = None
    concurrency_key: str | None = None
    rate: str | None = None
    rate_key: str | None = None
    isolation: Isolation | None = None
    queue: str = QUEUE
    enabled: bool = True
    input: dict[str, Any] = msgspec.field(default_factory=dict)
    alert_url: str | None = None
    ping_url: str | None = None
    description: str = ""
    digest: str  # of its source

    @property
    def limits(self) -> Limits:
        return Limits(self.concurrency, self.concurrency_key, self.rate, self.rate_key)

    @property
    def run_settings(self) -> dict[str, Any]:
        """Settings of the job's runs, however they are started."""
        return {word: getattr(self, word) for word in SETTINGS}

    def __repr__(self) -> str:
        """Text without the URLs, which may hold secrets."""
        return repr_without_urls(self)


class FileProblem(NamedTuple):
    """One problem of a file: path, line number, and a sentence with the reason and the remedy."""

    path: str
    line: int | None
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}" if self.line is not None else f"{self.path}: {self.message}"

    @property
    def sort_key(self) -> tuple[str, int, str]:
        return self.path, self.line or 0, self.message


class FolderChange(NamedTuple):
    """Result of a reload. `loaded` has all jobs that work now, also last good versions of files with problems."""

    loaded: list[JobFile]
    added: list[JobFile]
    changed: list[JobFile]  # the same name as before, with other code or settings, or in another file
    removed: list[JobFile]
    problems: list[FileProblem]

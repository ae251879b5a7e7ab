"""Loading a folder of job files, and loading it again: what is unchanged stays, what is broken keeps its last good
version, and what is new takes over with the next run. A handler that is running keeps the code it started with."""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from workbell.errors import JobsError, Untrusted
from workbell.job_files import load_errors as trouble
from workbell.job_files.check import Check
from workbell.job_files.discover import FoundFile, duplicates, find_files
from workbell.job_files.finder import JobModuleFinder, loader_of
from workbell.job_files.job_file import FileProblem, FolderChange, JobFile, Loaded
from workbell.job_files.locations import ProjectFolders
from workbell.job_files.modules import (
    Modules,
    is_by_us,
    needed,
    own_modules,
    put_back,
    restore,
    spread,
    strangers,
    take_out,
)
from workbell.job_files.source import SourceFile
from workbell.trust import files as trust

Unread = OSError | Untrusted
Read = dict[Path, SourceFile | Unread]


class JobFiles:
    """The job files of a project. `reload` is safe to call from any thread; one reload happens at a time."""

    def __init__(
        self, project: Path, jobs: str = "jobs", timezone: str | None = None, allow: Sequence[str] = ()
    ) -> None:
        self.place = ProjectFolders(project, jobs)
        self._timezone = timezone
        self._allow = allow  # what may be sent to, besides the public
        self._finder = JobModuleFinder(self.place)
        self._good: dict[str, JobFile] = {}
        self._modules: Modules = {}  # those that the good versions came from
        self._lock = threading.Lock()

    def reload(self) -> FolderChange:
        """Look at every file, and load what is new or has changed, itself or something that it imports."""
        if self._finder.loading == threading.get_ident():
            raise JobsError("Job files are being loaded; one of them asked for a reload, which must wait until run.")
        with self._lock:
            self._finder.loading = threading.get_ident()
            try:
                return self._reload()
            finally:
                self._finder.loading = None

    def close(self) -> None:
        """Take the project's modules out of the process; functions that somebody holds go on working."""
        with self._lock:
            self._finder.remove()
            take_out([*own_modules(self.place), *filter(self.place.names_module, list(sys.modules))])
            self._good, self._modules = {}, {}

    def _reload(self) -> FolderChange:
        self._finder.install()
        importlib.invalidate_caches()
        take_out(strangers(self.place))
        found, problems = find_files(self.place)
        read = {file.file: _read(file.file) for file in found}
        shelf = self._take_out_stale({file.module for file in found}, read, problems)
        try:
            good = self._load_all(found, read, shelf, problems)
            self._load_helpers(shelf, good, problems)
        except BaseException:  # Ctrl-C while a file was executed
            put_back({name: module for name, module in shelf.items() if name not in sys.modules})
            raise
        change = _compare(self._good, good, sorted(set(problems), key=lambda problem: problem.place))
        self._good = good
        self._modules = {path: module for path, module in self._modules.items() if path in good}
        return change

    def _load_all(
        self, found: list[FoundFile], read: Read, shelf: Modules, problems: list[FileProblem]
    ) -> dict[str, JobFile]:
        """By path, what works now: anew, as it was, or in its last good version."""
        twice = duplicates(found)
        problems += twice.values()
        good: dict[str, JobFile] = {}
        for file in found:
            source = read[file.file]
            job = None
            if isinstance(source, FileNotFoundError):
                continue  # gone since it was listed
            if isinstance(source, Unread):
                problems.append(trouble.unreadable(self.place, file.file, source))
            elif source.error is not None:
                problems.append(trouble.unreadable(self.place, file.file, source.error))
            elif file.path not in twice:
                job = self._load(file, source, problems)
            if job is None:
                job = self._good.get(file.path)  # the last good version
                put_back({name: shelf[name] for name in [file.module] if name in shelf})
            if job is not None:
                good[file.path] = job
        return good

    def _take_out_stale(self, jobs: set[str], read: Read, problems: list[FileProblem]) -> Modules:
        """Remove the modules whose source has changed, and those that import them, so that they are loaded anew.

        One whose new source is no Python stays as it is: everything goes on with its last good version.
        """
        own = own_modules(self.place)
        wanted = needed(jobs, own)
        own = {name: module for name, module in own.items() if name in wanted or is_by_us(module)}
        changed = []
        for name, module in own.items():
            loader = loader_of(module)
            assert loader is not None
            source = read.get(loader.file) or _read(loader.file)
            if isinstance(source, FileNotFoundError):
                changed.append(name)
            elif isinstance(source, Unread) or source.error is not None:
                error = source if isinstance(source, Unread) else source.error
                if error is not None and loader.file not in read:  # a job file is reported where it is loaded
                    problems.append(trouble.unreadable(self.place, loader.file, error))
            elif source.digest != loader.digest:
                changed.append(name)
        # A job file that is gone was no helper: nobody imports it in ways that cannot be seen.
        return take_out(spread(changed, own, jobs | {job.module for job in self._good.values()}))

    def _load(self, file: FoundFile, source: SourceFile, problems: list[FileProblem]) -> JobFile | None:
        before = own_modules(self.place)
        if file.module in sys.modules and file.module not in before:
            take_out([file.module])  # imported by somebody before us, or a folder of that name
        known = self._good.get(file.path)
        module = before.get(file.module)
        if known is not None and module is self._modules.get(file.path) and known.digest == source.digest:
            return known
        try:
            self._make_parents(file.module)
            module = importlib.import_module(file.module)
        except KeyboardInterrupt:
            restore(before, self.place)
            raise
        except BaseException as error:  # noqa: BLE001  sys.exit() in a file is a problem of that file
            restore(before, self.place)
            problems.append(trouble.failed(self.place, file.file, error))
            check = self._check(file, source, source.literals(), executed=False)
            check.read()
            problems += check.problems
            return None
        check = self._check(file, source, vars(module), executed=True)
        job = check.read()
        if job is None:
            restore(before, self.place)
            problems += check.problems
        else:
            self._modules[file.path] = module
        return job

    def _check(self, file: FoundFile, source: SourceFile, values: Mapping[str, Any], *, executed: bool) -> Check:
        return Check(file, source, values, executed=executed, timezone=self._timezone, allow=self._allow)

    def _make_parents(self, name: str) -> None:
        """A job file beside a folder of its own name must not keep the jobs in the folder from being loaded."""
        above = name.rpartition(".")[0]
        if not above or above in sys.modules:
            return
        self._make_parents(above)
        path = self.place.path_of(above) if self.place.names_module(above) else None
        if path is not None and path.with_name(path.name + ".py").is_file() and not (path / "__init__.py").is_file():
            folder = ModuleType(above)
            folder.__path__ = [str(path)]
            sys.modules[above] = folder

    def _load_helpers(self, shelf: Modules, good: dict[str, JobFile], problems: list[FileProblem]) -> None:
        """Helpers that were loaded before and are imported only when a job runs: now, while the old one is at hand."""
        names = [job.module for job in good.values()]
        for name in sorted(needed(names, shelf | own_modules(self.place)) & shelf.keys()):
            loader = loader_of(shelf[name])
            before = own_modules(self.place)
            if name in sys.modules or loader is None or not loader.file.exists():
                continue
            try:
                importlib.import_module(name)
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # noqa: BLE001  whatever it raises, the last good version stays
                restore(before, self.place)
                put_back({name: shelf[name]})
                problems.append(trouble.failed(self.place, loader.file, error))


def _read(file: Path) -> SourceFile | Unread:
    try:
        return SourceFile(file, trust.read(file))
    except (OSError, Untrusted) as error:
        return error


def _compare(before: dict[str, JobFile], after: dict[str, JobFile], problems: list[FileProblem]) -> FolderChange:
    """By name: a file that was moved to another folder is the same job."""
    old = {job.name: job for job in before.values()}
    new = {job.name: job for job in after.values()}
    return FolderChange(
        loaded=list(new.values()),
        added=[job for name, job in new.items() if name not in old],
        changed=[job for name, job in new.items() if name in old and old[name] is not job],
        removed=[job for name, job in old.items() if name not in new],
        problems=problems,
    )


def load_folder(project: Path, jobs: str = "jobs", timezone: str | None = None) -> Loaded:
    """Load every job file of a folder once; its modules stay in the process."""
    change = JobFiles(project, jobs, timezone).reload()
    return Loaded(change.loaded, change.problems)


def check_folder(project: Path, jobs: str = "jobs", timezone: str | None = None) -> list[FileProblem]:
    """Everything that is wrong with the job files of a folder, by path and line; nothing stays loaded."""
    path, finders = list(sys.path), list(sys.meta_path)
    files = JobFiles(project, jobs, timezone)
    try:
        return files.reload().problems
    finally:
        files.close()
        sys.path[:], sys.meta_path[:] = path, finders

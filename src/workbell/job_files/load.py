"""Load and reload of a job folder: unchanged files stay loaded, broken ones stay in their last good version.

A new version is used from the next run on; a running handler finishes with the code it started with. So a module is
replaced by a new one; importlib.reload would execute the new source in the old module.
"""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Mapping, Sequence
from importlib.util import module_from_spec
from pathlib import Path
from typing import Any

from workbell.errors import JobsError, Untrusted
from workbell.job_files import load_errors
from workbell.job_files.check import Check
from workbell.job_files.discover import FoundFile, duplicates, find_files
from workbell.job_files.finder import JobModuleFinder, loader_of, namespace_spec
from workbell.job_files.job_file import FileProblem, FolderChange, JobFile
from workbell.job_files.locations import ProjectFolders
from workbell.job_files.modules import (
    Modules,
    foreign_modules,
    is_for_jobs,
    own_modules,
    put_back,
    restore,
    take_out,
    with_dependants,
    with_dependencies,
)
from workbell.job_files.source import SourceFile
from workbell.trust import files as trust

Unread = OSError | Untrusted
Read = dict[Path, SourceFile | Unread]


class JobFiles:
    """Loader of a project's job files. `reload` may be called from any thread; one reload happens at a time."""

    def __init__(
        self, project: Path, jobs: str = "jobs", timezone: str | None = None, allow: Sequence[str] = ()
    ) -> None:
        self.folders = ProjectFolders(project, jobs)
        self._timezone = timezone
        self._allow = allow  # hosts of webhooks that are allowed besides public ones
        self._finder = JobModuleFinder(self.folders)
        self._good: dict[str, JobFile] = {}
        self._modules: Modules = {}  # those that the good versions came from
        self._lock = threading.Lock()

    def reload(self) -> FolderChange:
        """Read every file, and load those that are new or changed, or import something that changed."""
        if self._finder.loading == threading.get_ident():
            raise JobsError("Job files are being loaded; one of them asked for a reload, which must wait until run.")
        with self._lock:
            self._finder.loading = threading.get_ident()
            try:
                return self._reload()
            finally:
                self._finder.loading = None

    def close(self) -> None:
        """Remove the project's modules from `sys.modules`; functions of theirs go on working."""
        with self._lock:
            self._finder.remove()
            take_out([*own_modules(self.folders), *filter(self.folders.names_module, list(sys.modules))])
            self._good, self._modules = {}, {}

    def _reload(self) -> FolderChange:
        self._finder.install()
        importlib.invalidate_caches()
        take_out(foreign_modules(self.folders))
        found, problems = find_files(self.folders)
        read = {file.file: _read(file.file) for file in found}
        taken_out = self._take_out_stale({file.module for file in found}, read, problems)
        try:
            good = self._load_all(found, read, taken_out, problems)
            self._load_helpers(taken_out, good, problems)
        except BaseException:  # Ctrl-C while a file was executed
            put_back({name: module for name, module in taken_out.items() if name not in sys.modules})
            raise
        change = _compare(self._good, good, sorted(set(problems), key=lambda problem: problem.sort_key))
        self._good = good
        self._modules = {path: module for path, module in self._modules.items() if path in good}
        return change

    def _load_all(
        self, found: list[FoundFile], read: Read, taken_out: Modules, problems: list[FileProblem]
    ) -> dict[str, JobFile]:
        """The jobs by path: new, unchanged, or in their last good version."""
        twice = duplicates(found)
        problems += twice.values()
        good: dict[str, JobFile] = {}
        for file in found:
            source = read[file.file]
            job = None
            if isinstance(source, FileNotFoundError):
                continue  # gone since it was listed
            if isinstance(source, Unread):
                problems.append(load_errors.unreadable(self.folders, file.file, source))
            elif source.error is not None:
                problems.append(load_errors.unreadable(self.folders, file.file, source.error))
            elif file.path not in twice:
                job = self._load(file, source, problems)
            if job is None:
                job = self._good.get(file.path)  # the last good version
                put_back({name: taken_out[name] for name in [file.module] if name in taken_out})
            if job is not None:
                good[file.path] = job
        return good

    def _take_out_stale(self, jobs: set[str], read: Read, problems: list[FileProblem]) -> Modules:
        """Remove changed modules and their dependants from `sys.modules`, so that the next import loads them anew.

        One whose new source is no Python stays: the last good version is used on.
        """
        own = own_modules(self.folders)
        wanted = with_dependencies(jobs, own)
        own = {name: module for name, module in own.items() if name in wanted or is_for_jobs(module)}
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
                    problems.append(load_errors.unreadable(self.folders, loader.file, error))
            elif source.digest != loader.digest:
                changed.append(name)
        # Removed job files count as jobs: no other job imports one dynamically.
        return take_out(with_dependants(changed, own, jobs | {job.module for job in self._good.values()}))

    def _load(self, file: FoundFile, source: SourceFile, problems: list[FileProblem]) -> JobFile | None:
        before = own_modules(self.folders)
        if file.module in sys.modules and file.module not in before:
            take_out([file.module])  # imported before us, or a folder of that name
        known = self._good.get(file.path)
        module = before.get(file.module)
        if known is not None and module is self._modules.get(file.path) and known.digest == source.digest:
            return known
        try:
            self._make_parents(file.module)
            module = importlib.import_module(file.module)
        except KeyboardInterrupt:
            restore(before, self.folders)
            raise
        except BaseException as error:  # noqa: BLE001  sys.exit() in a file is a problem of that file
            restore(before, self.folders)
            problems.append(load_errors.failed(self.folders, file.file, error))
            check = self._check(file, source, source.literals(), executed=False)
            check.read()
            problems += check.problems
            return None
        check = self._check(file, source, vars(module), executed=True)
        job = check.read()
        if job is None:
            restore(before, self.folders)
            problems += check.problems
        else:
            self._modules[file.path] = module
        return job

    def _check(self, file: FoundFile, source: SourceFile, values: Mapping[str, Any], *, executed: bool) -> Check:
        return Check(file, source, values, executed=executed, timezone=self._timezone, allow=self._allow)

    def _make_parents(self, name: str) -> None:
        """Folders as packages: a broken reports.py must not prevent the load of the jobs in reports/ beside it."""
        above = name.rpartition(".")[0]
        if not above or above in sys.modules:
            return
        self._make_parents(above)
        path = self.folders.path_of(above) if self.folders.names_module(above) else None
        if path is not None and path.with_name(path.name + ".py").is_file() and not (path / "__init__.py").is_file():
            sys.modules[above] = module_from_spec(namespace_spec(above, path))

    def _load_helpers(self, taken_out: Modules, good: dict[str, JobFile], problems: list[FileProblem]) -> None:
        """Reload helpers that only running jobs import, while the last good version can still be put back."""
        names = [job.module for job in good.values()]
        for name in sorted(with_dependencies(names, taken_out | own_modules(self.folders)) & taken_out.keys()):
            loader = loader_of(taken_out[name])
            before = own_modules(self.folders)
            if name in sys.modules or loader is None or not loader.file.exists():
                continue
            try:
                importlib.import_module(name)
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # noqa: BLE001  whatever it raises, the last good version stays
                restore(before, self.folders)
                put_back({name: taken_out[name]})
                problems.append(load_errors.failed(self.folders, loader.file, error))


def _read(file: Path) -> SourceFile | Unread:
    try:
        return SourceFile(file, trust.read(file))
    except (OSError, Untrusted) as error:
        return error


def _compare(before: dict[str, JobFile], after: dict[str, JobFile], problems: list[FileProblem]) -> FolderChange:
    """Changes by job name: a file that was moved to another folder is the same job."""
    old = {job.name: job for job in before.values()}
    new = {job.name: job for job in after.values()}
    return FolderChange(
        loaded=list(new.values()),
        added=[job for name, job in new.items() if name not in old],
        changed=[job for name, job in new.items() if name in old and old[name] is not job],
        removed=[job for name, job in old.items() if name not in new],
        problems=problems,
    )

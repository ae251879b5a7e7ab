"""Search for job files: a walk through the job folder that reads and imports nothing."""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

from workbell.errors import JobsError
from workbell.job_files.job_file import FileProblem
from workbell.job_files.locations import ProjectFolders
from workbell.model.job import name as check_name


class FoundFile(NamedTuple):
    """A job file, by its path and name."""

    path: str
    name: str
    module: str
    file: Path


def find_files(folders: ProjectFolders) -> tuple[list[FoundFile], list[FileProblem]]:
    """Job files sorted by path, and problems of files that cannot be one. A missing job folder is no problem."""
    problems: list[FileProblem] = []
    if folders.jobs.exists() and not folders.jobs.is_dir():
        problem = "it is a file; make it a folder with job files in it."
        return [], [FileProblem(folders.shown(folders.jobs), None, problem)]
    found: list[FoundFile] = []
    for file in _walk(folders, problems):
        path = folders.shown(file)
        parts = file.relative_to(folders.jobs).with_suffix("").parts
        dotted = [part for part in parts if "." in part]
        if dotted:
            problem = f"{dotted[0]!r} has a dot, which Python reads as a border between modules; rename it."
            problems.append(FileProblem(path, None, problem))
            continue
        try:
            name = check_name("the job's name", parts[-1])
        except JobsError as error:
            problems.append(FileProblem(path, None, str(error)))
            continue
        found.append(FoundFile(path, name, folders.module_of(file), file))
    return sorted(found), problems


def _walk(folders: ProjectFolders, problems: list[FileProblem]) -> list[Path]:
    def cannot_list(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            where = folders.shown(error.filename or folders.jobs)
            problems.append(FileProblem(where, None, f"it cannot be listed: {error.strerror}; change its permissions."))

    files: list[Path] = []
    for folder, below, names in os.walk(folders.jobs, onerror=cannot_list):
        below[:] = sorted(name for name in below if not name.startswith(("_", ".")))
        for name in names:
            file = Path(folder, name)
            if name.endswith(".py") and not name.startswith(("_", ".")) and file.is_file():
                files.append(file)
    return files


def duplicates(found: list[FoundFile]) -> dict[str, FileProblem]:
    """Problems by path: one for each file whose job name another file has too."""
    named: dict[str, list[FoundFile]] = defaultdict(list)
    for file in found:
        named[file.name].append(file)
    problems: dict[str, FileProblem] = {}
    for name, files in named.items():
        for file in files:
            others = " and ".join(other.path for other in files if other is not file)
            if others:
                message = f"the job's name {name!r} is also that of {others}; rename one of them."
                problems[file.path] = FileProblem(file.path, None, message)
    return problems

"""Finding job files: a walk through the folder, without reading or importing anything."""

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
    """A file that is a job by its place and name."""

    path: str
    name: str
    module: str
    file: Path


def find_files(place: ProjectFolders) -> tuple[list[FoundFile], list[FileProblem]]:
    """Every job file, by path, and those that cannot be one. No folder of jobs: no jobs, and nothing is wrong."""
    problems: list[FileProblem] = []
    if place.jobs.exists() and not place.jobs.is_dir():
        return [], [FileProblem(place.shown(place.jobs), None, "it is a file; make it a folder with job files in it.")]
    found: list[FoundFile] = []
    for file in _walk(place, problems):
        path = place.shown(file)
        parts = file.relative_to(place.jobs).with_suffix("").parts
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
        found.append(FoundFile(path, name, place.module_of(file), file))
    return sorted(found), problems


def _walk(place: ProjectFolders, problems: list[FileProblem]) -> list[Path]:
    def cannot_list(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            where = place.shown(error.filename or place.jobs)
            problems.append(FileProblem(where, None, f"it cannot be listed: {error.strerror}; change its permissions."))

    files: list[Path] = []
    for folder, folders, names in os.walk(place.jobs, onerror=cannot_list):
        folders[:] = sorted(name for name in folders if not name.startswith(("_", ".")))
        for name in names:
            file = Path(folder, name)
            if name.endswith(".py") and not name.startswith(("_", ".")) and file.is_file():
                files.append(file)
    return files


def duplicates(found: list[FoundFile]) -> dict[str, FileProblem]:
    """A problem for each file whose name another one has too, by path: whose runs would they be?"""
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

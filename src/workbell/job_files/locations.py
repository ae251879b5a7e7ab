"""Paths of a project: its job folder, the module names of files in it, and which files are the project's own code."""

from __future__ import annotations

import os
from pathlib import Path

from workbell.model.json_text import clean_text
from workbell.trust.imports import is_foreign


class ProjectFolders:
    """Absolute paths of a project's folder and its job folder.

    Modules are named by their path below the project (`jobs.reports.weekly`), so `from jobs._mail import x` works. In
    a job folder that is not below the project, names begin with the folder's own.
    """

    def __init__(self, project: Path, jobs: str) -> None:
        # Resolved, as Python resolves the current folder for sys.path.
        self.project = project.resolve()
        given = Path(os.path.abspath(project / jobs))  # noqa: PTH100  a link as the job folder stays one
        before = Path(os.path.abspath(project))  # noqa: PTH100
        self.jobs = self.project / given.relative_to(before) if given.is_relative_to(before) else given
        below = self.jobs.is_relative_to(self.project) and self.jobs != self.project
        self.base = self.project if below else self.jobs.parent
        self.prefix = ".".join(self.jobs.relative_to(self.base).parts)

    def shown(self, file: str | Path) -> str:
        """A path for messages: relative to the project's folder if it is below it."""
        path = Path(file)
        for folder in (self.project, self.base):
            if path.is_relative_to(folder):
                path = path.relative_to(folder)
                break
        return clean_text(path.as_posix())

    def module_of(self, file: Path) -> str:
        return ".".join(file.relative_to(self.base).with_suffix("").parts)

    def names_module(self, name: str) -> bool:
        """Whether a module of this name belongs to the job folder."""
        return name == self.prefix or name.startswith(self.prefix + ".")

    def path_of(self, name: str) -> Path:
        """The path of a module of the job folder: its folder, or its file without the ending."""
        rest = name.removeprefix(self.prefix).removeprefix(".")
        return self.jobs.joinpath(*rest.split(".")) if rest else self.jobs

    def is_own(self, file: str | Path) -> bool:
        """Whether a file is the project's own code, and not a library that is installed below its folder."""
        path = Path(file)
        for folder in (self.project, self.jobs):
            if path.is_relative_to(folder):
                return not any(is_foreign(part) for part in path.relative_to(folder).parts)
        return False

"""Where a project's job files lie, how their modules are named, and which modules are the project's own."""

from __future__ import annotations

import os
from pathlib import Path

from workbell.model.payload import clean_text
from workbell.trust.imports import is_foreign


class ProjectFolders:
    """A project's folder and its folder of jobs, made absolute once.

    Modules are named by their place below the project (`jobs.reports.weekly`), so that `from jobs._mail import x`
    says what it means. A folder of jobs that is not below the project is named by itself.
    """

    def __init__(self, project: Path, jobs: str) -> None:
        # As Python itself sees it: the current folder has no links in it, and sys.path is made from that.
        self.project = project.resolve()
        given = Path(os.path.abspath(project / jobs))  # noqa: PTH100  a link as the folder of jobs stays one
        before = Path(os.path.abspath(project))  # noqa: PTH100
        self.jobs = self.project / given.relative_to(before) if given.is_relative_to(before) else given
        below = self.jobs.is_relative_to(self.project) and self.jobs != self.project
        self.base = self.project if below else self.jobs.parent
        self.prefix = ".".join(self.jobs.relative_to(self.base).parts)

    def shown(self, file: str | Path) -> str:
        """A path as it is shown: from the project's folder, where it is below it."""
        path = Path(file)
        for folder in (self.project, self.base):
            if path.is_relative_to(folder):
                path = path.relative_to(folder)
                break
        return clean_text(path.as_posix())

    def module_of(self, file: Path) -> str:
        parts = file.relative_to(self.base).with_suffix("").parts
        return ".".join(parts)

    def names_module(self, name: str) -> bool:
        """Whether a module of this name belongs to the folder of jobs."""
        return name == self.prefix or name.startswith(self.prefix + ".")

    def path_of(self, name: str) -> Path:
        """The file, without its ending, or the folder of a module in the folder of jobs."""
        rest = name.removeprefix(self.prefix).removeprefix(".")
        return self.jobs.joinpath(*rest.split(".")) if rest else self.jobs

    def is_own(self, file: str | Path) -> bool:
        """Whether a file is the project's own code, and not a library that is installed below its folder."""
        path = Path(file)
        for folder in (self.project, self.jobs):
            if path.is_relative_to(folder):
                return not any(is_foreign(part) for part in path.relative_to(folder).parts)
        return False

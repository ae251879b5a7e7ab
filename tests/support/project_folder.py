"""A project's folder: job files written as a user would, and read again."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

from workbell.job_files import FileProblem, FolderChange, JobFile, JobFiles

HOURLY = 'schedule = "0 * * * *"\n'


class ProjectFolder:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()

    def write(self, path: str, text: str) -> Path:
        """Save a file, as some editors do: in place. The folder above it is made."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text), "utf-8")
        return file

    def job(self, path: str, body: str = "return None", before: str = "") -> Path:
        """Save a job that runs every hour."""
        text = HOURLY + textwrap.dedent(before) + "def run():\n" + textwrap.indent(textwrap.dedent(body), "    ") + "\n"
        return self.write(f"jobs/{path}", text)

    def remove(self, path: str) -> None:
        (self.folder / path).unlink()

    def open(self) -> JobFiles:
        return JobFiles(self.folder)


def load_folder(project: Path, jobs: str = "jobs", timezone: str | None = None) -> FolderChange:
    """Load every job file of a folder once; its modules stay in the process."""
    return JobFiles(project, jobs, timezone).reload()


def results(files: list[JobFile]) -> dict[str, Any]:
    """What each job returns now, by its name."""
    return {file.name: file.function() for file in files}


def shown(problems: list[FileProblem]) -> list[str]:
    return [str(problem) for problem in problems]

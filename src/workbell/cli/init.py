"""`workbell init`: creates a project, or its missing files. Existing files are left alone."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import click

from workbell.cli.output import echo, print_json
from workbell.cli.project import json_option
from workbell.cli.starter import FILES
from workbell.errors import WorkbellError


class ProjectFiles(NamedTuple):
    """Files of the project: those that were written, and those that were there."""

    written: list[str]
    existing: list[str]


@click.command(help="Create a project: a workbell.toml and a first job.")
@click.argument("folder", type=click.Path(path_type=Path), default=".")
@json_option
def init(folder: Path, as_json: bool) -> None:
    made = make_project(folder)
    if as_json:
        print_json({"folder": str(folder), "written": made.written, "kept": made.existing})
        return
    report(folder, made)
    echo("Now run it:\n")
    if folder.resolve() != Path.cwd():
        echo(f"  cd {folder}")
    echo("  workbell dev")


def make_project(folder: Path) -> ProjectFiles:
    """Write the files that are missing. A project that has jobs needs no first one."""
    made = ProjectFiles([], [])
    try:
        folder.mkdir(parents=True, exist_ok=True)
        has_jobs = any((folder / "jobs").rglob("*.py"))
        for name, text in FILES.items():
            file = folder / name
            if has_jobs and name.startswith("jobs/"):
                made.existing.append("jobs/")
            elif _write_new(file, text):
                made.written.append(name)
            else:
                made.existing.append(name)
    except OSError as error:
        raise WorkbellError(
            f"{error.filename or folder}: no project can be made there: {error.strerror}; choose another folder."
        ) from error
    return made


def _write_new(file: Path, text: str) -> bool:
    file.parent.mkdir(exist_ok=True)
    try:
        with file.open("x", encoding="utf-8") as new:
            new.write(text)
    except FileExistsError:
        return False
    return True


def report(folder: Path, made: ProjectFiles) -> None:
    """Print which files were written."""
    if made.written:
        echo(f"Written in {folder if folder != Path() else 'this folder'}: {', '.join(made.written)}.")
    if made.existing:
        echo(f"There already, and left as it is: {', '.join(made.existing)}.")

"""`workbell check`: every problem of every job file, and of the app, at once. The store is not touched."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import click

from workbell.app import Workbell
from workbell.boot.load_app import load_app
from workbell.cli.output import echo, print_json
from workbell.cli.project import Project, app_option, json_option, open_project, store_file
from workbell.errors import InvalidUrl, SettingsError, StoreError, WorkbellError
from workbell.handlers.app_database import check_database
from workbell.job_files import FileProblem, JobFiles
from workbell.settings import FILE, Settings, beside, find_file, load

WITH_POSITION = re.compile(r"(?P<path>.+?\.py):(?P<line>\d+): (?P<message>.*)", re.DOTALL)


class Checked(NamedTuple):
    """What was checked, and its problems."""

    files: int
    problems: list[FileProblem]
    folder: str  # of the job files
    app: str | None = None  # if it could be loaded
    jobs: int = 0  # that it declares
    schedules: int = 0


@click.command(help="List every problem of every job file, and of the app.")
@app_option
@json_option
@click.pass_context
def check(context: click.Context, app: str | None, as_json: bool) -> None:
    checked = check_all(app)
    problems = sorted(set(checked.problems), key=lambda problem: problem.sort_key)
    if as_json:
        facts = {"app": checked.app, "jobs": checked.jobs, "schedules": checked.schedules, "files": checked.files}
        print_json(facts | {"problems": [problem._asdict() for problem in problems]})
    else:
        for problem in problems:
            echo(problem)
        _sum_up(checked, problems)
    if problems:
        context.exit(1)


def check_all(app: str | None) -> Checked:
    problems: list[FileProblem] = []
    project = _settings(app, problems)
    bell = _app(project, problems)
    settings = project.settings
    problems += _database(settings)
    files = JobFiles(project.folder, settings.jobs, settings.timezone, settings.webhook_allow)
    try:
        change = files.reload()
    finally:
        files.close()
    problems += change.problems
    paths = {file.path for file in change.loaded} | {problem.path for problem in change.problems}
    checked = Checked(len(paths), problems, settings.jobs)
    if bell is not None:
        jobs = [*bell.registry]
        ticking = sum(job.ticks is not None for job in jobs)
        checked = checked._replace(app=settings.app, jobs=len(jobs), schedules=ticking)
        problems += [bell.engine.clash_of(file) for file in change.loaded if file.name in bell.registry]
        problems += [problem for file in change.loaded if (problem := bell.engine.hook_problem(file)) is not None]
        bell.close()
    return checked


def _settings(app: str | None, problems: list[FileProblem]) -> Project:
    """A workbell.toml that cannot be used is one problem more: the job files are checked all the same."""
    file = find_file()
    try:
        return open_project(app=app)
    except SettingsError as error:
        load({"app": app})  # raises if it is not the file that is to blame
        assert file is not None
        message = str(error).removeprefix(f"{file}: ").removeprefix("Settings: ")
        line = re.search(r"at line (\d+)", message)
        problems.append(FileProblem(FILE, int(line[1]) if line else None, message))
        return Project(beside(file), file)


def _database(settings: Settings) -> list[FileProblem]:
    """Problems of the setting `database` that a start would refuse."""
    try:
        check_database(settings.database, _store_file(settings.url))
    except (SettingsError, InvalidUrl) as error:
        return [FileProblem(FILE, None, str(error))]
    return []


def _store_file(url: str) -> Path | None:
    try:
        return store_file(url)
    except StoreError:  # a driver that is missing here: where the files are checked, the store need not be used
        return None


def _app(project: Project, problems: list[FileProblem]) -> Workbell | None:
    if project.settings.app is None:
        return None
    try:
        return load_app(project.settings.app, project.folder, named=project.names_app)
    except WorkbellError as error:
        found = WITH_POSITION.fullmatch(str(error))
        if found is None:
            problems.append(FileProblem(FILE, None, str(error)))
        else:
            problems.append(FileProblem(found["path"], int(found["line"]), found["message"]))
    return None


def _sum_up(checked: Checked, problems: list[FileProblem]) -> None:
    """On stderr if there are problems, so that what is on stdout is the list and nothing else."""
    if problems:
        broken = len({problem.path for problem in problems})
        echo(f"{_count(len(problems), 'problem')} in {_count(broken, 'file')}.", err=True)
        return
    if checked.app is not None:
        has = f"{_count(checked.jobs, 'job')}, {_count(checked.schedules, 'schedule')}"
        echo(f"The app {checked.app} is in order: {has}.")
    if checked.files:
        echo(f"{_count(checked.files, 'job file')} {'is' if checked.files == 1 else 'are'} in order.")
    elif checked.app is not None:
        echo(f"There are no job files in {checked.folder}/.")
    else:
        echo("There are no job files here; `workbell init` writes a first one.")


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"

"""Opens the Workbell of a command: that of the app, or one made from the settings alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from tempfile import TemporaryDirectory
from typing import NamedTuple

import msgspec

from workbell.app import Workbell
from workbell.boot.recipe import Recipe, make, other_store
from workbell.cli.output import echo
from workbell.cli.project import Project, missing_file, store_url
from workbell.errors import ScheduleNotFound
from workbell.job_files import FileProblem, JobFile, JobFiles
from workbell.stores.opening import open_store


class Here(NamedTuple):
    """A Workbell that knows this folder's jobs, from code and from files; nothing was written to its store."""

    bell: Workbell
    files: dict[str, JobFile]
    problems: list[FileProblem]


def load_bell(project: Project, url: str | None = None) -> Workbell:
    """The app's Workbell; a folder without an app needs none, its job files are enough. `url` is the option."""
    return make(recipe_of(project, url))


def recipe_of(project: Project, url: str | None = None) -> Recipe:
    return Recipe(project.settings, str(project.folder), url, project.names_app)


@contextmanager
def opened_here(project: Project, url: str | None, *, create: bool) -> Iterator[Here]:
    """This folder's jobs with their store, for commands about jobs."""
    with load_bell(project, url) as bell:
        differs = other_store(bell)
        if differs is not None:
            echo(f"workbell: {differs}.", err=True)
        settings = project.settings
        found = JobFiles(project.folder, settings.jobs, settings.timezone, settings.webhook_allow)
        change = found.reload()
        clashes = [bell.engine.clash_of(file) for file in change.loaded if file.name in bell.registry]
        files = {file.name: file for file in change.loaded if file.name not in bell.registry}
        bell.registry.replace([bell.engine.job_of(file) for file in files.values()], ())
        try:
            with nullcontext() if create else _creating_nothing(bell), _in_words_of_commands():
                yield Here(bell, files, [*change.problems, *clashes])
        finally:
            found.close()


@contextmanager
def opened_store(project: Project, *, create: bool) -> Iterator[Workbell]:
    """The store alone, for commands about schedules: whatever is wrong with the code does not matter to them."""
    settings = msgspec.structs.replace(project.settings, url=store_url(project))
    with (
        Workbell(settings=settings) as bell,
        nullcontext() if create else _creating_nothing(bell),
        _in_words_of_commands(),
    ):
        yield bell


@contextmanager
def _in_words_of_commands() -> Iterator[None]:
    try:
        yield
    except ScheduleNotFound as error:
        raise ScheduleNotFound(str(error).replace("bell.schedules.list()", "`workbell schedules list`")) from error


@contextmanager
def _creating_nothing(bell: Workbell) -> Iterator[None]:
    """Read commands must not create the database file: a missing one reads as an empty store, in a temporary folder."""
    if missing_file(bell.settings.url) is None:
        yield
        return
    bell.store.close()
    with TemporaryDirectory(prefix="workbell-") as folder:
        bell.store = open_store(f"sqlite:///{folder}/empty.db")
        try:
            yield
        finally:
            bell.store.close()

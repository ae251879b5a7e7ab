"""Opens the client of a command: the Workbell of the app, one made from the settings alone, or a service's client."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import datetime
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from workbell.app import Workbell
from workbell.boot.recipe import Recipe, conflicts, make
from workbell.cli.output import echo
from workbell.cli.project import Project, missing_file, open_round, store_settings
from workbell.cli.service import connected
from workbell.cli.words import here_now
from workbell.errors import ScheduleNotFound
from workbell.job_files import FileProblem, JobFile, JobFiles
from workbell.settings import safe_url
from workbell.stores.opening import open_store

if TYPE_CHECKING:
    from workbell.model.run import Run
    from workbell.remote.client import Client
    from workbell.wire.runs import RunShown

# The verbs are the same, and the values have the same public names.
AnyClient: TypeAlias = "Workbell | Client"
AnyRun: TypeAlias = "Run | RunShown"


class Here(NamedTuple):
    """A client that knows this folder's jobs, from code and from files; nothing was written to its store.

    That of a service knows what the service knows, and nothing of this folder.
    """

    bell: AnyClient
    files: dict[str, JobFile]
    problems: list[FileProblem]


def load_bell(project: Project, url: str | None = None) -> Workbell:
    """The app's Workbell; a folder without an app needs none, its job files are enough. `url` is the option."""
    return make(recipe_of(project, url))


def recipe_of(project: Project, url: str | None = None) -> Recipe:
    return Recipe(project.settings, str(project.folder), url, project.tenant_option, project.names_app)


@contextmanager
def opened_here(project: Project, url: str | None, *, create: bool) -> Iterator[Here]:
    """This folder's jobs with their store, or the jobs of a service; for commands about jobs."""
    if project.service is not None:
        with opened_client(project, create=create) as client:
            yield Here(client, {}, [])
        return
    with load_bell(project, url) as bell:
        for conflict in conflicts(bell):
            echo(f"workbell: {conflict}.", err=True)
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
def opened_round(app: str | None, url: str | None) -> Iterator[AnyClient]:
    """The app's Workbell, or the client of a service, for a round of dispatch or of work."""
    project = open_round(app, url)
    with load_bell(project, url) if project.service is None else opened_client(project, create=False) as bell:
        yield bell


@contextmanager
def opened_client(project: Project, *, create: bool) -> Iterator[AnyClient]:
    """The client of a service, or else the store alone: whatever is wrong with the code does not matter."""
    if project.service is None:
        with opened_store(project, create=create) as bell:
            yield bell
        return
    with connected(project.service, project.tenant) as client, _in_words_of_commands():
        yield client


@contextmanager
def opened_store(project: Project, *, create: bool) -> Iterator[Workbell]:
    """The store alone, for commands that need the database itself."""
    with (
        Workbell(settings=store_settings(project)) as bell,
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


def now_of(bell: AnyClient) -> datetime:
    """The time by the store's clock; by this machine's, if the store is a service's."""
    return bell.store.clock.now() if isinstance(bell, Workbell) else here_now()


def of_tenant(bell: AnyClient) -> str:
    """`of tenant default`, for messages. Which tenant a token of a service is for, only the service knows."""
    tenant = bell.tenant if isinstance(bell, Workbell) else bell.transport.tenant
    return "of the token's tenant" if tenant is None else f"of tenant {tenant}"


def say_empty(bell: AnyClient, text: str) -> None:
    """Say that there is nothing, and where: it may be another store than was meant."""
    if not isinstance(bell, Workbell):
        echo(f"{text}\nThe service is {bell.transport.address.shown}, which has none; --service names another.")
        return
    url = bell.settings.url
    state = "which is not there yet" if missing_file(url) is not None else "which has none"
    echo(f"{text}\nThe store is {safe_url(url)}, {state}; --url or --app names another.")

"""Project of a command: the settings in force, and the store that they name."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click
import msgspec

from workbell.cli.service import Place, chosen_service, over_service, url_option
from workbell.cli.values import TENANT
from workbell.errors import SettingsError
from workbell.handlers.app_database import file_of
from workbell.logs import set_up
from workbell.settings import Settings, beside, find_file, load, warn_of_misspelt
from workbell.stores.opening import open_store
from workbell.stores.port import Store

NAMED_APP = "workbell.app"
NOTHING = "There is nothing to run in this folder: no workbell.toml, no jobs/ and no --app"

Command = TypeVar("Command", bound=Callable[..., Any])


class Project(NamedTuple):
    """Settings, and the `workbell.toml` that some of them came from, if there is one."""

    settings: Settings
    file: Path | None
    names_app: bool = False  # the user did, by --app or WORKBELL_APP
    service: Place | None = None  # to work over HTTP
    tenant: str | None = None  # that was named; a service has one for each token
    tenant_option: str | None = None  # named by --tenant

    @property
    def folder(self) -> Path:
        return self.file.parent if self.file is not None else Path.cwd()


def json_option(command: Command) -> Command:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON for other programs.")(command)


def tenant_option(command: Command) -> Command:
    return click.option("--tenant", type=TENANT, metavar="NAME", help="The tenant; otherwise the setting `tenant`.")(
        command
    )


def app_option(command: Command) -> Command:
    return click.option("--app", metavar="MODULE:NAME", help="The Workbell to use; otherwise `app` of workbell.toml.")(
        command
    )


def limit_option(most: int, default: int = 20) -> Callable[[Command], Command]:
    return click.option(
        "-n", "--limit", type=click.IntRange(1, most), default=default, show_default=True, help="How many rows."
    )


def store_options(command: Command) -> Command:
    """`--url` and `--app`, for commands that work on the store alone: an app may be what names it."""

    def remember_app(context: click.Context, _option: click.Parameter, app: str | None) -> None:
        context.meta[NAMED_APP] = app

    option = click.option(
        "--app",
        metavar="MODULE:NAME",
        expose_value=False,
        callback=remember_app,
        help="The Workbell whose store it is; otherwise `app` of workbell.toml.",
    )
    return option(url_option(command))


def client_options(command: Command) -> Command:
    """`store_options`, for commands that work over a service as well."""
    return store_options(over_service(command))


def code_options(command: Command) -> Command:
    """`--app` and `--url`, for commands about jobs that work over a service as well: there, without code."""
    return app_option(url_option(over_service(command)))


def open_project(*, for_people: bool = False, **flags: Any) -> Project:
    """The settings in force, with logging set up as they say. A command whose own output is for people logs text."""
    file = find_file()
    settings = load({"app": _named_app()} | flags, file=file)
    set_up(settings.log_level, "text" if for_people and settings.log_format == "auto" else settings.log_format)
    warn_of_misspelt()
    by_option: str | None = flags.get("tenant")
    tenant = by_option or (settings.tenant if settings.tenant != Settings().tenant else None)
    names_app = bool(flags.get("app") or os.environ.get("WORKBELL_APP"))
    return Project(settings, file, names_app, _service(flags), tenant, by_option)


def _service(flags: Mapping[str, Any]) -> Place | None:
    """The service to work over. A database that is named beside it is refused; in the environment it counts less."""
    chosen = chosen_service()
    named = "--url" if flags.get("url") else "--app" if flags.get("app") or _named_app() else None
    if chosen is None or named is None:
        return chosen
    if chosen.by_option:
        raise click.UsageError(f"{named} names a database, and --service a service in its stead; give one of them.")
    return None


def is_empty(project: Project) -> bool:
    """Whether there is nothing here that could be run: no project, no app, no folder of jobs."""
    settings = project.settings
    return project.file is None and settings.app is None and not (project.folder / settings.jobs).is_dir()


def refuse_empty(project: Project) -> None:
    """Refuse a folder without anything to run: a crontab in the wrong folder would do nothing, and say nothing."""
    if is_empty(project):
        raise SettingsError(f"{NOTHING}; go to a project's folder, or make one with `workbell init`.")


def open_round(app: str | None, url: str | None) -> Project:
    """The project of a round of dispatch or of work; or none, where `--url` or WORKBELL_URL names a store."""
    project = open_project(app=app, url=url)
    if url is None and "WORKBELL_URL" not in os.environ and project.service is None:
        refuse_empty(project)
    return project


def store_url(project: Project) -> str:
    return store_settings(project).url


def store_settings(project: Project) -> Settings:
    """The settings with the project's store. Where nothing but the app's own code names it, the app is asked, and its
    tenant counts as well unless another one was named."""
    settings = project.settings
    defaults = Settings() if project.file is None else beside(project.file)
    if settings.app is not None and (settings.url == defaults.url or (_named_app() is not None and not _names_url())):
        from workbell.boot.load_app import load_app

        bell = load_app(settings.app, project.folder, named=project.names_app)
        return msgspec.structs.replace(settings, url=bell.settings.url, tenant=project.tenant or bell.tenant)
    return settings


def _named_app() -> str | None:
    """The value of `--app`, for a command with `store_options`."""
    context = click.get_current_context(silent=True)
    return None if context is None else context.meta.get(NAMED_APP)


def _names_url() -> bool:
    return click.get_current_context().params.get("url") is not None


@contextmanager
def opened(url: str) -> Iterator[Store]:
    """A store for as long as the block lasts."""
    store = open_store(url)
    try:
        yield store
    finally:
        store.close()


def store_file(url: str) -> Path | None:
    """The file of the store, as its URL names it, whatever its scheme; none, where the store is no file."""
    with opened(url) as store:
        path = file_of(store)
        if path is None:
            return None
        from workbell.stores.sqlite.store import SqliteStore

        return store.file.shown if isinstance(store, SqliteStore) else path


def missing_file(url: str) -> Path | None:
    """The missing file of a file-based store: read commands must not create it."""
    path = store_file(url)
    if path is None:
        return None
    try:
        return None if path.exists() else path
    except OSError as error:
        from workbell.stores.sqlite.file import unusable

        raise unusable(path, error) from error

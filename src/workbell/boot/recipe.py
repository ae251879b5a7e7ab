"""Recipe of a Workbell, to make the same one in another process: settings, folder and command-line options."""

from __future__ import annotations

import logging
import os
from functools import partial
from pathlib import Path

import msgspec

from workbell.app import Workbell
from workbell.boot.load_app import load_app
from workbell.errors import SettingsError
from workbell.settings import FILE, Settings, beside, safe_url

log = logging.getLogger("workbell")


class Recipe(msgspec.Struct, frozen=True):
    """Settings and options as plain data, to be sent to another process."""

    settings: Settings
    folder: str
    url: str | None = None  # of the option --url
    tenant: str | None = None  # of the option --tenant
    names_app: bool = False  # app comes from --app or WORKBELL_APP


def make(recipe: Recipe) -> Workbell:
    """Make the app's Workbell; one for the job files alone if there is no app."""
    bell = _make(recipe)
    bell.recipe = recipe
    bell.one_shot.start = partial(load_jobs, bell, recipe.folder)
    return bell


def _make(recipe: Recipe) -> Workbell:
    settings, folder = recipe.settings, Path(recipe.folder)
    if settings.app is None:
        return Workbell(settings=msgspec.structs.replace(settings, project=settings.project or folder.name))
    # The app's own Workbell() reads them.
    if recipe.url is not None:
        os.environ["WORKBELL_URL"] = recipe.url
    if recipe.tenant is not None:
        os.environ["WORKBELL_TENANT"] = recipe.tenant
    bell = load_app(settings.app, folder, named=recipe.names_app)
    if recipe.url is not None and bell.settings.url != recipe.url:
        raise SettingsError(
            f"--url: the app itself names its store ({safe_url(bell.settings.url)}); leave the option out, "
            "or write Workbell() without a URL in the app."
        )
    if recipe.tenant is not None and bell.tenant != recipe.tenant:
        raise SettingsError(
            f"--tenant: the app itself names its tenant ({bell.tenant}); leave the option out, or write Workbell() "
            "without a tenant in the app."
        )
    return bell


def conflicts(bell: Workbell) -> list[str]:
    """Warnings if the app's code names another store or tenant than the settings, which commands that load no code
    use."""
    recipe = bell.recipe
    if not isinstance(recipe, Recipe) or recipe.settings.app is None:
        return []
    return [text for text in (_other_store(bell, recipe), _other_tenant(bell, recipe)) if text is not None]


def _other_store(bell: Workbell, recipe: Recipe) -> str | None:
    # Compared as shown: the path of a file is relative in code, and absolute from a workbell.toml.
    of_code, of_settings = safe_url(bell.settings.url), safe_url(recipe.settings.url)
    if of_code == of_settings or _asks_app(recipe):
        return None
    return (
        f"the app names its store itself, {of_code}; the url of the settings, {of_settings}, is used only by commands "
        "that do not load the app, such as `workbell runs list`; write Workbell() without a URL in the app, or remove "
        "the setting"
    )


def _other_tenant(bell: Workbell, recipe: Recipe) -> str | None:
    of_settings = recipe.settings.tenant
    if bell.tenant == of_settings or (_asks_app(recipe) and of_settings == Settings().tenant):
        return None
    return (
        f"the app names its tenant itself, {bell.tenant}; the tenant of the settings, {of_settings}, is used only by "
        "commands that do not load the app, such as `workbell runs list`; write Workbell() without a tenant in the "
        f'app, or tenant = "{bell.tenant}" in {FILE}'
    )


def _asks_app(recipe: Recipe) -> bool:
    """Whether the settings name no store, so that all commands ask the app."""
    return recipe.settings.url in (Settings().url, beside(Path(recipe.folder) / FILE).url)


def load_jobs(bell: Workbell, folder: str, *, schedules: bool = True, log_problems: bool = True) -> None:
    """Load the job files, and declare schedules if `schedules`; one process of many logs the problems."""
    bell.store.check()
    if log_problems:
        for conflict in conflicts(bell):
            log.warning("%s", conflict)
    bell.engine.declares_schedules = schedules
    bell.engine.logs_problems = log_problems
    if bell.settings.project is None and (Path(folder) / bell.settings.jobs).is_dir():
        bell.engine.reload()  # without workbell.toml, a job folder makes it a project
    bell.engine.start()

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
    names_app: bool = False  # app comes from --app or WORKBELL_APP


def make(recipe: Recipe) -> Workbell:
    """Make the app's Workbell; one for the job files alone if there is no app."""
    bell = _make(recipe)
    bell.host.recipe = recipe
    bell.one_shot.start = partial(load_jobs, bell, recipe.folder)
    return bell


def _make(recipe: Recipe) -> Workbell:
    settings, folder = recipe.settings, Path(recipe.folder)
    if settings.app is None:
        return Workbell(settings=msgspec.structs.replace(settings, project=settings.project or folder.name))
    if recipe.url is not None:
        os.environ["WORKBELL_URL"] = recipe.url  # the app's own Workbell() reads it
    bell = load_app(settings.app, folder, named=recipe.names_app)
    if recipe.url is not None and bell.settings.url != recipe.url:
        raise SettingsError(
            f"--url: the app itself names its store ({safe_url(bell.settings.url)}); leave the option out, "
            "or write Workbell() without a URL in the app."
        )
    return bell


def other_store(bell: Workbell) -> str | None:
    """Warning if the app's code names another store than the settings, which commands that load no code use."""
    recipe = bell.host.recipe
    if not isinstance(recipe, Recipe) or recipe.settings.app is None:
        return None
    # Compared as shown: the path of a file is relative in code, and absolute from a workbell.toml.
    of_code, of_settings = safe_url(bell.settings.url), safe_url(recipe.settings.url)
    defaults = (Settings().url, beside(Path(recipe.folder) / FILE).url)
    if of_code == of_settings or recipe.settings.url in defaults:
        return None
    return (
        f"the app names its store itself, {of_code}; the url of the settings, {of_settings}, is used only by commands "
        "that do not load the app, such as `workbell runs list`; write Workbell() without a URL in the app, or remove "
        "the setting"
    )


def load_jobs(bell: Workbell, folder: str, *, schedules: bool = True, log_problems: bool = True) -> None:
    """Load the job files, and declare schedules if `schedules`; one process of many logs the problems."""
    bell.store.check()
    differs = other_store(bell)
    if log_problems and differs is not None:
        log.warning("%s", differs)
    bell.engine.declares_schedules = schedules
    bell.engine.logs_problems = log_problems
    if bell.settings.project is None and (Path(folder) / bell.settings.jobs).is_dir():
        bell.engine.reload()  # without workbell.toml, a job folder makes it a project
    bell.engine.start()

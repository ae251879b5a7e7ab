"""How to make the same Workbell again in another process: the settings in force, and what the command line said."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import msgspec

from workbell.app import Workbell
from workbell.boot.load_app import load_app
from workbell.errors import SettingsError
from workbell.settings import FILE, Settings, beside, safe_url

log = logging.getLogger("workbell")


class Recipe(msgspec.Struct, frozen=True):
    """Plain data, so that it can be sent to another process."""

    settings: Settings
    folder: str
    url: str | None = None  # as the option said, if it did
    names_app: bool = False  # the user did, by --app or WORKBELL_APP


def make(recipe: Recipe) -> Workbell:
    """The app's Workbell; a folder without an app needs none, its job files are enough."""
    bell = _make(recipe)
    bell.recipe = recipe
    return bell


def _make(recipe: Recipe) -> Workbell:
    settings, folder = recipe.settings, Path(recipe.folder)
    if settings.app is None:
        return Workbell(settings=msgspec.structs.replace(settings, project=settings.project or folder.name))
    if recipe.url is not None:
        os.environ["WORKBELL_URL"] = recipe.url  # the app makes its Workbell itself, and this is where it looks
    bell = load_app(settings.app, folder, named=recipe.names_app)
    if recipe.url is not None and bell.settings.url != recipe.url:
        raise SettingsError(
            f"--url: the app itself names its store ({safe_url(bell.settings.url)}); leave the option out, "
            "or write Workbell() without a URL in the app."
        )
    return bell


def other_store(bell: Workbell) -> str | None:
    """What to say if the app's code names another store than the settings do, which commands without code go by."""
    if bell.recipe is None or bell.recipe.settings.app is None:
        return None
    # As they are shown: a file that the code names is meant from here, and one of a workbell.toml has its whole path.
    of_code, of_settings = safe_url(bell.settings.url), safe_url(bell.recipe.settings.url)
    unsaid = (Settings().url, beside(Path(bell.recipe.folder) / FILE).url)
    if of_code == of_settings or bell.recipe.settings.url in unsaid:
        return None
    return (
        f"the app names its store itself, {of_code}; the url of the settings, {of_settings}, is used only by commands "
        "that do not load the app, such as `workbell runs list`; write Workbell() without a URL in the app, or remove "
        "the setting"
    )


def load_jobs(bell: Workbell, folder: str, *, schedules: bool = True, tells: bool = True) -> None:
    """The job files and, where this process looks after them, the schedules of the code; `tells` of their problems."""
    bell.store.check()
    differs = other_store(bell)
    if tells and differs is not None:
        log.warning("%s", differs)
    bell.engine.keeps_schedules = schedules
    bell.engine.tells_problems = tells
    if bell.settings.project is None and (Path(folder) / bell.settings.jobs).is_dir():
        bell.engine.reload()  # where there is no workbell.toml, the folder of jobs says enough
    bell.engine.start()

"""Import of the application, `module:attribute`, from the project's folder; errors name file and line."""

from __future__ import annotations

import importlib
import importlib.util
import traceback
from pathlib import Path

from workbell.app import Workbell
from workbell.errors import JobsError, SettingsError, WorkbellError
from workbell.model.error_text import in_a_sentence
from workbell.trust.files import vouch_for
from workbell.trust.imports import put_on_path

HOW = 'write app = "module:attribute" in workbell.toml, for example app = "shop:bell" for `bell` in shop.py'


def load_app(app: str | None, folder: Path, *, named: bool = False) -> Workbell:
    """The Workbell of the setting `app`. `named`: the setting came from `--app` or WORKBELL_APP, not from a file; then
    the module's owner is trusted."""
    if app is None:
        raise SettingsError(f"No app is named: {HOW}, or give --app module:attribute.")
    module_name, separator, attribute = app.partition(":")
    if not separator or not module_name or not attribute:
        raise SettingsError(f"app = {app!r} cannot be read: {HOW}.")
    module = _import(app, module_name, folder, named=named)
    found: object = module
    for part in attribute.split("."):
        try:
            found = getattr(found, part)
        except AttributeError as error:
            words = f"{module_name} has no {attribute!r}; {_offers(module)}"
            if hasattr(module, "__getattr__"):  # what it offers is not in it, as in `workbell.django.app`
                words = str(error)
            raise SettingsError(f"app = {app!r}: {words}.") from None
    if not isinstance(found, Workbell):
        raise SettingsError(f"app = {app!r} is a {type(found).__name__} and not a Workbell; {_offers(module)}.")
    return found


def _import(app: str, name: str, folder: Path, *, named: bool) -> object:
    put_on_path(folder)
    importlib.invalidate_caches()
    try:
        if named:
            _vouch(name, folder)
        there = importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # a package above it is missing
        there = False
    except (ImportError, ValueError) as error:
        raise SettingsError(f"app = {app!r} cannot be read: {error}; {HOW}.") from error
    if not there:
        raise SettingsError(f"app = {app!r}: there is no module {name!r} in {folder}; {HOW}.")
    try:
        return importlib.import_module(name)
    except WorkbellError as error:
        raise type(error)(f"{_location(error, folder)}{error}") from error  # the class stays: it has its own exit code
    except (Exception, SystemExit) as error:
        if isinstance(error, SyntaxError):
            words = f"{_relative(error.filename or name, folder)}:{error.lineno}: {type(error).__name__}: {error.msg}"
        else:
            words = f"{_location(error, folder)}{in_a_sentence(error)}"
        raise JobsError(f"{words} (while importing app = {app!r}).") from error


def _vouch(name: str, folder: Path) -> None:
    """Trust the owner of a module that the user named. Only its first part is searched: more would execute it."""
    spec = importlib.util.find_spec(name.partition(".")[0])
    found = [] if spec is None else [spec.origin, *(spec.submodule_search_locations or ())]
    for path in [Path(path) for path in found if path is not None]:
        if path.is_relative_to(folder) and path.exists():
            vouch_for(path, folder)
            return


def _location(error: BaseException, folder: Path) -> str:
    """`shop.py:12: `, the innermost frame of the traceback in the application's own code."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [
        frame
        for frame in frames
        if Path(frame.filename).is_relative_to(folder) and "site-packages" not in frame.filename
    ]
    return f"{_relative(own[-1].filename, folder)}:{own[-1].lineno}: " if own else ""


def _relative(file: str, folder: Path) -> str:
    path = Path(file)
    return str(path.relative_to(folder)) if path.is_relative_to(folder) else str(path)


def _offers(module: object) -> str:
    """The Workbells of a module, for an error message."""
    names = [name for name, value in vars(module).items() if isinstance(value, Workbell)]
    if names:
        return f"it has a Workbell named {' and '.join(repr(name) for name in names)}"
    return "it makes no Workbell at all: write bell = Workbell() in it"

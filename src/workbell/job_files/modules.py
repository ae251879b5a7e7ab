"""The loaded modules of a project: which there are, which a change makes stale, and how they are put aside and back."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from types import ModuleType

from workbell.job_files.finder import loader_of
from workbell.job_files.locations import ProjectFolders

Modules = dict[str, ModuleType]


def own_modules(place: ProjectFolders) -> Modules:
    """The project's modules that came in through our loader. Those that were there before it are left alone."""
    own: Modules = {}
    for name, module in list(sys.modules.items()):
        loader = loader_of(module)
        if loader is not None and place.is_own(loader.file):
            own[name] = module
    return own


def is_by_us(module: ModuleType) -> bool:
    loader = loader_of(module)
    return loader is not None and loader.by_us


def strangers(place: ProjectFolders) -> list[str]:
    """Modules that sit where the job files' own belong, and came from elsewhere, or stand for what is no more."""
    named = [(name, module) for name, module in list(sys.modules.items()) if place.names_module(name)]
    return [name for name, module in named if not _belongs(place, name, module)]


def _belongs(place: ProjectFolders, name: str, module: ModuleType) -> bool:
    file = getattr(module, "__file__", None)
    if file is not None:
        return place.is_own(file)
    path = place.path_of(name)  # a folder, that has no code of its own
    return str(path) in getattr(module, "__path__", ()) and not (path / "__init__.py").is_file()


def spread(changed: Iterable[str], own: Mapping[str, ModuleType], jobs: Iterable[str]) -> set[str]:
    """What is stale when these have changed: they, and whatever imports them, on and on.

    A changed module that nothing imports by its name was imported in a way that cannot be seen in the source; then
    every job may be affected.
    """
    users = {name: _used(name, module, own) for name, module in own.items()}
    jobs = set(jobs)
    stale = set(changed)
    for name in list(stale):
        if name not in jobs and not any(name in used for user, used in users.items() if user != name):
            stale |= jobs & own.keys()
    while True:
        more = {name for name, used in users.items() if name not in stale and used & stale}
        if not more:
            return stale
        stale |= more


def _used(name: str, module: ModuleType, own: Mapping[str, ModuleType]) -> set[str]:
    loader = loader_of(module)
    used = set() if loader is None else loader.imports & own.keys()
    above = name.rpartition(".")[0]
    while above:
        package = own.get(above)
        if package is not None and getattr(package.__spec__, "submodule_search_locations", None) is not None:
            used.add(above)  # a package is executed before what is in it
        above = above.rpartition(".")[0]
    return used


def needed(names: Iterable[str], modules: Mapping[str, ModuleType]) -> set[str]:
    """These modules, and all that they import, on and on."""
    found: set[str] = set()
    waiting = [name for name in names if name in modules]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(_used(name, modules[name], modules))
    return found


def take_out(names: Iterable[str]) -> Modules:
    """Remove modules, so that the next import loads them anew; also from their packages, where `from . import x`
    would find them still."""
    taken: Modules = {}
    for name in names:
        module = sys.modules.pop(name, None)
        if module is not None:
            taken[name] = module
            package, last = _package(name)
            if package is not None and package.__dict__.get(last) is module:
                delattr(package, last)
    return taken


def put_back(modules: Mapping[str, ModuleType]) -> None:
    for name, module in modules.items():
        sys.modules[name] = module
        package, last = _package(name)
        if package is not None:
            setattr(package, last, module)


def restore(before: Mapping[str, ModuleType], place: ProjectFolders) -> None:
    """Undo what a failed load did to the project's modules. Libraries it loaded stay: some cannot be loaded twice."""
    now = own_modules(place)
    take_out(name for name, module in now.items() if before.get(name) is not module and is_by_us(module))
    put_back({name: module for name, module in before.items() if sys.modules.get(name) is not module})


def _package(name: str) -> tuple[ModuleType | None, str]:
    above, _, last = name.rpartition(".")
    return sys.modules.get(above), last

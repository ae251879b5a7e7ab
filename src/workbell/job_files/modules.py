"""The project's entries in `sys.modules`: which a change makes stale, and how they are taken out and put back."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from types import ModuleType

from workbell.job_files.finder import loader_of
from workbell.job_files.locations import ProjectFolders

Modules = dict[str, ModuleType]


def own_modules(folders: ProjectFolders) -> Modules:
    """The project's modules that our loader loaded. Those that were imported before it are left alone."""
    own: Modules = {}
    for name, module in list(sys.modules.items()):
        loader = loader_of(module)
        if loader is not None and folders.is_own(loader.file):
            own[name] = module
    return own


def is_for_jobs(module: ModuleType) -> bool:
    """Whether a module was loaded for a job file, and not by another part of the application."""
    loader = loader_of(module)
    return loader is not None and loader.for_jobs


def foreign_modules(folders: ProjectFolders) -> list[str]:
    """Modules with names of the job folder that were loaded from elsewhere, or whose folder has changed its kind."""
    named = [(name, module) for name, module in list(sys.modules.items()) if folders.names_module(name)]
    return [name for name, module in named if not _belongs(folders, name, module)]


def _belongs(folders: ProjectFolders, name: str, module: ModuleType) -> bool:
    file = getattr(module, "__file__", None)
    if file is not None:
        return folders.is_own(file)
    path = folders.path_of(name)  # a folder without __init__.py
    return str(path) in getattr(module, "__path__", ()) and not (path / "__init__.py").is_file()


def with_dependants(changed: Iterable[str], own: Mapping[str, ModuleType], jobs: Iterable[str]) -> set[str]:
    """Stale modules: those that have changed, and their dependants, direct and indirect.

    A changed module that no source imports by its name was imported dynamically; then every job may depend on it.
    """
    uses = {name: _dependencies(name, module, own) for name, module in own.items()}
    jobs = set(jobs)
    stale = set(changed)
    for name in list(stale):
        if name not in jobs and not any(name in used for user, used in uses.items() if user != name):
            stale |= jobs & own.keys()
    while True:
        more = {name for name, used in uses.items() if name not in stale and used & stale}
        if not more:
            return stale
        stale |= more


def _dependencies(name: str, module: ModuleType, own: Mapping[str, ModuleType]) -> set[str]:
    loader = loader_of(module)
    used = set() if loader is None else loader.imports & own.keys()
    above = name.rpartition(".")[0]
    while above:
        package = own.get(above)
        if package is not None and getattr(package.__spec__, "submodule_search_locations", None) is not None:
            used.add(above)  # a package is executed before what is in it
        above = above.rpartition(".")[0]
    return used


def with_dependencies(names: Iterable[str], modules: Mapping[str, ModuleType]) -> set[str]:
    """These modules and their dependencies, direct and indirect."""
    found: set[str] = set()
    waiting = [name for name in names if name in modules]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(_dependencies(name, modules[name], modules))
    return found


def take_out(names: Iterable[str]) -> Modules:
    """Remove modules from `sys.modules` and from their packages, where `from . import x` would find them."""
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
    """Undo `take_out`."""
    for name, module in modules.items():
        sys.modules[name] = module
        package, last = _package(name)
        if package is not None:
            setattr(package, last, module)


def restore(before: Mapping[str, ModuleType], folders: ProjectFolders) -> None:
    """Undo what a failed load did to the project's modules. Libraries it loaded stay: some cannot be loaded twice."""
    now = own_modules(folders)
    take_out(name for name, module in now.items() if before.get(name) is not module and is_for_jobs(module))
    put_back({name: module for name, module in before.items() if sys.modules.get(name) is not module})


def _package(name: str) -> tuple[ModuleType | None, str]:
    above, _, last = name.rpartition(".")
    return sys.modules.get(above), last

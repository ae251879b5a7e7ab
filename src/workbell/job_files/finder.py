"""Importing the project's own modules from their source, always.

Python keeps compiled modules beside the source and trusts them by the second and the size of the file: an edit within
the same second can go unseen. The project's own modules, job files and helpers alike, are therefore compiled anew each
time; there are few of them. Libraries are left to Python.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType

from workbell.job_files.locations import ProjectFolders
from workbell.job_files.source import SourceFile
from workbell.trust.imports import TrustedLoader, put_on_path


class SourceLoader(TrustedLoader):
    """Loads one module from its source, and remembers which source it was and what it imports."""

    def __init__(self, name: str, file: Path, *, by_us: bool, folder: Path | None = None) -> None:
        super().__init__(name, str(file))
        self.file = file
        self.by_us = by_us  # loaded because a job file was, and not by another part of the application
        self.digest = ""
        self.imports: set[str] = set()
        self._folder = folder

    def get_code(self, fullname: str) -> CodeType:
        source = SourceFile(self.file, self.get_data(self.path))
        if source.tree is None:
            assert source.error is not None
            raise source.error
        self.digest = source.digest
        self.imports = source.imports(fullname, self.is_package(fullname))
        code: CodeType = compile(source.tree, self.path, "exec", dont_inherit=True)
        return code

    def exec_module(self, module: ModuleType) -> None:
        if self._folder is not None:
            # reports.py beside reports/: a job of its own, and what leads to the jobs in the folder.
            module.__path__ = [str(self._folder)]
        super().exec_module(module)


class JobModuleFinder(MetaPathFinder):
    """Finds modules of the folder of jobs by their place, and gives all own modules of the project our loader."""

    def __init__(self, place: ProjectFolders) -> None:
        self.place = place
        self.loading: int | None = None  # the thread that is loading job files

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if self.place.names_module(fullname):
            return self._find_in_jobs(fullname)
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or type(spec.loader) is not SourceFileLoader or not self.place.is_own(spec.loader.path):
            return None
        spec.loader = self._loader(fullname, Path(spec.loader.path))
        return spec

    def _find_in_jobs(self, name: str) -> ModuleSpec | None:
        """By place and not by sys.path: a library of the same name must not hide a folder without __init__.py."""
        path = self.place.path_of(name)
        start, file = path / "__init__.py", path.with_name(path.name + ".py")
        if start.is_file():
            return spec_from_file_location(
                name, start, loader=self._loader(name, start), submodule_search_locations=[str(path)]
            )
        is_folder = path.is_dir()
        if file.is_file() and name != self.place.prefix:
            return spec_from_file_location(name, file, loader=self._loader(name, file, path if is_folder else None))
        if not is_folder:
            return None
        spec = ModuleSpec(name, None, is_package=True)
        spec.submodule_search_locations = [str(path)]
        return spec

    def _loader(self, name: str, file: Path, folder: Path | None = None) -> SourceLoader:
        return SourceLoader(name, file, by_us=self.loading == threading.get_ident(), folder=folder)

    def install(self) -> None:
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)
        for folder in {self.place.base, self.place.project}:
            put_on_path(folder)

    def remove(self) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)


def loader_of(module: object) -> SourceLoader | None:
    """Our loader, if it was this that loaded a module."""
    if not isinstance(module, ModuleType):
        return None  # anything can sit in sys.modules, and do anything when it is asked for an attribute
    loader = getattr(module.__dict__.get("__spec__"), "loader", None)
    return loader if isinstance(loader, SourceLoader) else None

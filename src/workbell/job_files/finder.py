"""Import hook for the project's own modules: found as Python finds them, compiled from source at every load.

Python trusts a compiled module by the second and the size of its source: an edit within the same second can go unseen.
The project's own modules, job files and helpers, are therefore compiled anew each time; there are few of them.
Libraries are left to Python.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

from workbell.job_files.locations import ProjectFolders
from workbell.job_files.source import SourceFile
from workbell.trust.imports import TrustedLoader, put_on_path


class SourceLoader(TrustedLoader):
    """Loader of one module from its source; it has the source's digest and imports for the next reload."""

    def __init__(self, name: str, path: str, *, for_jobs: bool, folder: Path | None = None) -> None:
        super().__init__(name, path)
        self.file = Path(path)
        self.for_jobs = for_jobs  # loaded for a job file, and not by another part of the application
        self.digest = ""
        self.imports: set[str] = set()
        self._folder = folder

    def get_code(self, fullname: str) -> CodeType:
        source = SourceFile(self.file, self.get_data(self.path))
        if source.error is not None:
            raise source.error
        assert source.tree is not None
        self.digest = source.digest
        self.imports = source.imports(fullname, self.is_package(fullname))
        return self.source_to_code(source.tree, self.path)

    def exec_module(self, module: ModuleType) -> None:
        if self._folder is not None:
            # reports.py beside reports/ is a job and also the package of the jobs in the folder. The spec cannot say
            # so: with search locations in it, `from ._mail import x` would mean jobs.reports._mail.
            module.__path__ = [str(self._folder)]
        super().exec_module(module)


class JobModuleFinder(MetaPathFinder):
    """Finder of the project's own modules: Python's PathFinder, in the job folder by location, with our loader."""

    def __init__(self, folders: ProjectFolders) -> None:
        self.folders = folders
        self.loading: int | None = None  # the thread that is loading job files

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if self.folders.names_module(fullname):
            return self._find_in_jobs(fullname)
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or type(spec.loader) is not SourceFileLoader or not self.folders.is_own(spec.loader.path):
            return None
        return self._from_source(spec)

    def _find_in_jobs(self, name: str) -> ModuleSpec | None:
        """In one folder, not on sys.path: a library of the same name would hide a folder without __init__.py."""
        folder = self.folders.path_of(name)
        spec = PathFinder.find_spec(name, [str(folder.parent)])
        is_folder = folder.is_dir()
        if spec is not None and type(spec.loader) is SourceFileLoader:
            if spec.submodule_search_locations is not None:
                return self._from_source(spec)
            if name != self.folders.prefix:  # jobs.py beside jobs/ is no job
                return self._from_source(spec, folder if is_folder else None)
        return namespace_spec(name, folder) if is_folder else None

    def _from_source(self, spec: ModuleSpec, folder: Path | None = None) -> ModuleSpec:
        assert isinstance(spec.loader, SourceFileLoader)
        for_jobs = self.loading == threading.get_ident()
        spec.loader = SourceLoader(spec.name, spec.loader.path, for_jobs=for_jobs, folder=folder)
        return spec

    def install(self) -> None:
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)
        for folder in {self.folders.base, self.folders.project}:
            put_on_path(folder)

    def remove(self) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)


def namespace_spec(name: str, folder: Path) -> ModuleSpec:
    """The spec of a folder without __init__.py. Python's own would add folders of that name on sys.path."""
    spec = ModuleSpec(name, None, is_package=True)
    spec.submodule_search_locations = [str(folder)]
    return spec


def loader_of(module: object) -> SourceLoader | None:
    """The SourceLoader that loaded a module; None if another loader did."""
    if not isinstance(module, ModuleType):
        return None  # anything can sit in sys.modules, and do anything when it is asked for an attribute
    loader = getattr(module.__dict__.get("__spec__"), "loader", None)
    return loader if isinstance(loader, SourceLoader) else None

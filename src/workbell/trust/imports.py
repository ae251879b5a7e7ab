"""Import hook for folders that Workbell puts on `sys.path`: each module is checked as it is read, its cached code too.

What Python finds by itself (the standard library, installed packages) is left to Python: it came with the
interpreter.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

from workbell.errors import Untrusted
from workbell.trust.files import check, read

INSTALLED = frozenset({"site-packages", "dist-packages", "node_modules", "__pycache__"})


def is_foreign(part: str) -> bool:
    """Whether a folder of this name holds code that nobody edits here: hidden, or installed."""
    return part.startswith(".") or part in INSTALLED


class TrustedLoader(SourceFileLoader):
    """Reads a module's source only if it is trusted. Compiled code that is not is passed over."""

    def path_stats(self, path: str) -> Any:
        check(Path(path))  # where the compiled code is used, the source is not opened
        return super().path_stats(path)

    def get_data(self, path: str) -> bytes:
        if path == self.path:
            return read(Path(path))
        if not path.endswith(".pyc"):
            return super().get_data(path)
        try:
            return read(Path(path))
        except Untrusted as error:
            raise PermissionError(str(error)) from error  # the import goes on with the source


class TrustedFinder(MetaPathFinder):
    """Finder that gives every module below its folders the checking loader."""

    def __init__(self) -> None:
        self._folders: set[Path] = set()

    def add(self, folder: Path) -> None:
        self._folders.add(folder)
        if self not in sys.meta_path:
            # Right before Python's own, whose work it does: no module is searched twice.
            index = sys.meta_path.index(PathFinder) if PathFinder in sys.meta_path else len(sys.meta_path)
            sys.meta_path.insert(index, self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.origin is None or not self._covers(Path(spec.origin)):
            return spec
        if type(spec.loader) is SourceFileLoader:
            spec.loader = TrustedLoader(fullname, spec.loader.path)
        else:
            check(Path(spec.origin))  # an extension, or compiled code alone
        return spec

    def _covers(self, file: Path) -> bool:
        below = [file.relative_to(folder) for folder in self._folders if file.is_relative_to(folder)]
        return any(not any(is_foreign(part) for part in path.parts) for path in below)


_guard = TrustedFinder()


def put_on_path(folder: Path) -> None:
    """Let modules be imported from a folder, each as far as it is trusted."""
    _guard.add(folder)
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

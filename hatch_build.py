"""Build hook of the wheel: it gets the dashboard's bundle, made here, in place of the single modules and style sheets.

Hatchling loads this file where Workbell is not installed, so `bundle.py` is loaded by its path. pyproject.toml leaves
the single files out of the wheel. An editable installation has no bundle: there the service makes it as it starts.
"""

from __future__ import annotations

import sys
import tempfile
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

DASHBOARD = "src/workbell/http/dashboard"
IN_WHEEL = "workbell/http/dashboard/static"


class DashboardBundle(BuildHookInterface[Any]):
    """Makes the bundle in a temporary folder, so that nothing built ever lies in the sources."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel" or version == "editable":
            return
        dashboard = Path(self.root, DASHBOARD)
        static = dashboard / "static"
        found = {path.relative_to(static).as_posix(): path for path in static.rglob("*")}
        contents = {name: path.read_bytes() for name, path in sorted(found.items()) if path.suffix in (".js", ".css")}
        self.folder = tempfile.TemporaryDirectory()
        for name, content in load(dashboard / "bundle.py").bundles(contents).items():
            made = Path(self.folder.name, name)
            made.write_bytes(content)
            build_data["force_include"][str(made)] = f"{IN_WHEEL}/{name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        folder = getattr(self, "folder", None)
        if folder is not None:
            folder.cleanup()


def load(path: Path) -> ModuleType:
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    written, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        spec.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = written
    return module

"""A project in a folder of its own, whose modules are gone from the process afterwards."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.project_folder import ProjectFolder


@pytest.fixture
def project(tmp_path: Path) -> Iterator[ProjectFolder]:
    path, finders, modules = list(sys.path), list(sys.meta_path), dict(sys.modules)
    folder = ProjectFolder(tmp_path / "shop")
    yield folder
    sys.path[:], sys.meta_path[:] = path, finders
    for name in [name for name in sys.modules if name not in modules]:
        if str(tmp_path) in str(getattr(sys.modules[name], "__spec__", "")) or name.split(".")[0] == "jobs":
            del sys.modules[name]

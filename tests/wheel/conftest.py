"""The wheel of this checkout, and a clean environment with it: real pip, real packages from the registry."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.clean_venv import CleanVenv, build_wheel


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> CleanVenv:
    """`pip install 'workbell[server]'`."""
    venv = CleanVenv(tmp_path_factory.mktemp("clean") / "venv")
    venv.install(f"{wheel}[server]")
    return venv

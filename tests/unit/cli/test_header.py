"""The header of `workbell dev`: the address that signs in is one line, however narrow the terminal."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from workbell import Workbell
from workbell.cli.header import show_header
from workbell.cli.project import Project
from workbell.settings import Settings

DOOR = f"http://127.0.0.1:8321/?token=wb_{'x' * 60}"


@pytest.mark.parametrize("width", [40, 80])
def test_the_address_is_not_broken(width: int) -> None:
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=True, color_system=None)
    settings = Settings(url="memory://")
    with Workbell(settings=settings) as bell:
        show_header(console, bell, Project(settings, None), DOOR)
    assert f"  open  {DOOR}" in out.getvalue().splitlines()

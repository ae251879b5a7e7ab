"""HTML page of the dashboard: the server has a path for every screen that `screens.js` lists."""

from __future__ import annotations

import re

from workbell.http.dashboard.assets import assets
from workbell.http.dashboard.shell import SCREENS

OVERVIEW = "overview"


def test_every_screen_that_is_loaded_has_a_path() -> None:
    source = assets().by_path["screens.js"].content.decode()
    loaded = re.findall(r'import\("\./screens/([a-z-]+)\.js"\)', source)
    assert loaded[0] == OVERVIEW
    assert list(SCREENS) == loaded[1:]
    assert "runs" in SCREENS

"""The environment of the tests without settings of Workbell; but with the platform that they are run on."""

from __future__ import annotations

import os

from workbell.process.platform import VARIABLE

PREFIX = "WORKBELL_"


def settings_in_environment() -> list[str]:
    """Variables that a test which wants defaults has to remove."""
    return [name for name in os.environ if name.startswith(PREFIX) and name != VARIABLE]


def without_settings(*more: str) -> dict[str, str]:
    """Also without variables that begin with one of `more`."""
    removed = {*settings_in_environment(), *(name for name in os.environ if more and name.startswith(more))}
    return {name: value for name, value in os.environ.items() if name not in removed}

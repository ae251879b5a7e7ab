"""Opens the adapter of a URL that a pytest option names; shared by the contracts that run as commands."""

from __future__ import annotations

from typing import NoReturn
from uuid import uuid4

import pytest

NEW = "{new}"  # in the URL: another word for each test


def renewed(url: str) -> str:
    return url.replace(NEW, uuid4().hex)


def end(why: str) -> NoReturn:
    """End the whole run: the next test would say the same."""
    pytest.exit(why, returncode=pytest.ExitCode.USAGE_ERROR)

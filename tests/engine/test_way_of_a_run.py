"""The way of a run on the architecture page names functions that a run really passes."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from tests.docs.architecture_page import functions, way
from tests.support.way import trace_plain_run


def test_the_page_names_what_is_called(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    for name in ["workbell", *(name for name in logging.root.manager.loggerDict if name.startswith("workbell."))]:
        caplog.set_level(logging.WARNING, name)  # a level that another test has set would add calls of the run log
    traced = trace_plain_run(tmp_path)
    named = set(functions(way("A run")))
    assert [str(one) for one in named - traced.functions] == []

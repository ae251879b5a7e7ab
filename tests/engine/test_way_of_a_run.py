"""The way of a run through our code is short, and stays so: a reader can follow it."""

from __future__ import annotations

import logging

import pytest

from tests.docs.architecture_page import functions, way
from tests.support.fresh_store import fresh_store
from tests.support.way import Way, trace_run
from workbell import Workbell
from workbell.claims import claiming
from workbell.settings import Settings

# What there are, with nothing to spare: 174 or 175, 125 and 45. Before these bounds were set it was 255, 174 and 55.
MOST_CALLS, MOST_FUNCTIONS, MOST_FILES = 175, 125, 45
MOST_NAMED = 36  # main functions on the page


@pytest.fixture
def traced(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> Way:
    """The way of a plain job from `enqueue` until it is booked, on SQLite. Runs are not logged: a log listens to them.

    Which is so by default; but the level of a logger outlives the test that has set it.
    """
    for name in ["workbell", *(name for name in logging.root.manager.loggerDict if name.startswith("workbell."))]:
        caplog.set_level(logging.WARNING, name)
    monkeypatch.setattr(claiming, "SURE", 1000)  # guesses would leave out the survey of some runs
    with Workbell(store=fresh_store(), settings=Settings(poll=5)) as bell:

        @bell.job
        def add(left: int, right: int) -> int:
            return left + right

        return trace_run(bell, lambda: add.enqueue(left=1, right=2))


def test_it_does_not_grow(traced: Way) -> None:
    assert traced.length <= MOST_CALLS, str(traced)
    assert len(traced.functions) <= MOST_FUNCTIONS, str(traced)
    assert len(traced.files) <= MOST_FILES, str(traced)


def test_the_page_names_what_is_called(traced: Way) -> None:
    named = set(functions(way("A run")))
    assert [str(one) for one in named - traced.functions] == []
    assert len(named) <= MOST_NAMED

"""The way of a run through our code is short, and stays so: a reader can follow it."""

from __future__ import annotations

from tests.support.fresh_store import fresh_store
from tests.support.way import trace_run
from workbell import Workbell
from workbell.settings import Settings

MOST_CALLS, MOST_FILES = 400, 60


def test_one_plain_job() -> None:
    with Workbell(store=fresh_store(), settings=Settings(poll=5)) as bell:

        @bell.job
        def add(left: int, right: int) -> int:
            return left + right

        way = trace_run(bell, lambda: add.enqueue(left=1, right=2))
    print(way)
    assert (way.length <= MOST_CALLS, len(way.files) <= MOST_FILES) == (True, True), str(way)

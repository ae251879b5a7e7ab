"""One log message at most once a minute."""

from __future__ import annotations

import logging

import pytest

from workbell.logs.rate_limit import RateLimitedMessage


def test_the_first_is_logged_at_once_and_the_next_minute_is_counted(caplog: pytest.LogCaptureFixture) -> None:
    seldom = RateLimitedMessage(logging.getLogger("workbell.http"), logging.WARNING, "short of files")
    for second in (0.0, 1.0, 59.9, 60.0, 61.0, 500.0):
        seldom.log(1000.0 + second)
    assert [one.getMessage() for one in caplog.records] == [
        "short of files (once)",
        "short of files (3 times since this was last logged)",
        "short of files (2 times since this was last logged)",
    ]

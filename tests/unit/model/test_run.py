"""A run as it is shown."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from workbell.model.run import Lane, Run, Status

AT = datetime(2030, 1, 2, 3, 4, 5, 678, tzinfo=UTC)
RUN = Run("01a1e6da-d2ce-7054-8f96-169c56304f9a", Lane("default", "default", "greet"), Status.QUEUED, 0, AT, AT, AT)
LATER, LAST = AT + timedelta(seconds=1), AT + timedelta(seconds=2)


@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        ({}, "<Run greet …56304f9a queued, attempt 0, due 2030-01-02 03:04:05Z>"),
        (
            {"status": Status.RUNNING, "attempt": 2, "started_at": LATER},
            "<Run greet …56304f9a running, attempt 2, since 2030-01-02 03:04:06Z>",
        ),
        (
            {"status": Status.FAILED, "attempt": 3, "started_at": LATER, "finished_at": LAST, "error": "secret"},
            "<Run greet …56304f9a failed, attempt 3, ended 2030-01-02 03:04:07Z>",
        ),
        (
            {"status": Status.SCHEDULED, "attempt": 1, "started_at": LATER},
            "<Run greet …56304f9a scheduled, attempt 1, due 2030-01-02 03:04:05Z>",
        ),
    ],
)
def test_one_line(changes: dict[str, object], shown: str) -> None:
    assert repr(msgspec.structs.replace(RUN, **changes)) == shown

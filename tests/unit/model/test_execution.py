"""Executions and invocations: runs and attempts in the words of event jobs (C5, C7)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import msgspec
import pytest

from tests.unit.makers import ID, NOW, run_in
from workbell.model.execution import execution_of, invocation_of
from workbell.model.run import Attempt, AttemptStatus, Options, Status

TRIGGER = "01890000-0000-7000-8000-00000000000a"
EVENT = "01890000-0000-7000-8000-00000000000b"
LATER = NOW + timedelta(seconds=5)
MADE = {"event": EVENT, "options_text": msgspec.json.encode(Options(trigger=TRIGGER)).decode()}


def test_every_field_is_there() -> None:
    fields = (
        "id job_id event_id status attempt_number started_at completed_at error result next_retry_at locked created_at"
    )
    ended = run_in(Status.SUCCEEDED, attempt=2, started_at=NOW, finished_at=LATER, result_text='{"sent": 1}', **MADE)
    told = execution_of(ended).as_dict()
    assert list(told) == fields.split()
    assert told == {
        "id": ID,
        "job_id": TRIGGER,
        "event_id": EVENT,
        "status": "completed",
        "attempt_number": 2,
        "started_at": NOW,
        "completed_at": LATER,
        "error": None,
        "result": {"sent": 1},
        "next_retry_at": None,
        "locked": None,
        "created_at": NOW,
    }


@pytest.mark.parametrize(
    ("status", "fields", "wanted"),
    [
        (Status.QUEUED, {}, {"status": "pending", "attempt_number": 0, "next_retry_at": None}),
        (Status.SCHEDULED, {"scheduled_for": LATER}, {"status": "pending", "next_retry_at": None}),
        (
            Status.SCHEDULED,
            {"attempt": 1, "failures": 1, "scheduled_for": LATER, "error": "ValueError: bad"},
            {"status": "pending", "next_retry_at": LATER, "error": "ValueError: bad"},
        ),
        (Status.RUNNING, {}, {"status": "running", "started_at": NOW, "locked": NOW, "attempt_number": 1}),
        (Status.RUNNING, {"attempt": 2, "error": "earlier"}, {"attempt_number": 2, "error": None}),
        (Status.FAILED, {"attempt": 3, "error": "bad"}, {"status": "failed", "error": "bad", "locked": None}),
        (Status.CANCELED, {"error": "earlier", "reason": "enough"}, {"status": "failed", "error": "enough"}),
    ],
)
def test_words(status: Status, fields: dict[str, Any], wanted: dict[str, Any]) -> None:
    """Waiting for a retry reads as pending, with its time; canceled as failed, with its reason."""
    told = execution_of(run_in(status, **fields)).as_dict()
    assert wanted.items() <= told.items()


@pytest.mark.parametrize(
    ("status", "word", "error"),
    [
        (AttemptStatus.RUNNING, "running", None),
        (AttemptStatus.SUCCEEDED, "success", None),
        (AttemptStatus.LOST, "failed", "its worker is gone"),
        (AttemptStatus.RELEASED, "failed", "no attempt was spent"),
        (AttemptStatus.SNOOZED, "failed", "no attempt was spent"),
        (AttemptStatus.CANCELED, "failed", "enough"),
    ],
)
def test_words_of_attempts(status: AttemptStatus, word: str, error: str | None) -> None:
    told = invocation_of(Attempt(ID, 1, status, NOW, LATER), "enough")
    assert told.status == word
    assert error is None or error in (told.error or "")


def test_an_invocation_has_an_id_of_its_own_that_stays() -> None:
    fields = "id execution_id attempt_number started_at completed_at status error result created_at"
    attempt = Attempt(ID, 2, AttemptStatus.FAILED, NOW, LATER, "w1", "ValueError: bad", '{"code": 500}')
    told = invocation_of(attempt)
    assert list(told.as_dict()) == fields.split()
    assert (told.execution_id, told.attempt_number, told.error) == (ID, 2, "ValueError: bad")
    assert (told.created_at, told.completed_at, told.result) == (NOW, LATER, {"code": 500})
    assert str(UUID(told.id)) == told.id == invocation_of(attempt).id
    assert invocation_of(msgspec.structs.replace(attempt, number=3)).id != told.id

"""Why a run is not running: one answer for each state it can be in."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from tests.unit.makers import NOW, run_in
from workbell.model.capability import Capability
from workbell.model.limit import Limit, Use
from workbell.model.pause import Pause
from workbell.model.rate import Rate, to_micros
from workbell.model.run import Options, Outside, RunWindow, Status
from workbell.runs.why import explain

MINUTE = timedelta(minutes=1)
OPENING = NOW + timedelta(hours=14)
STARTS = [(to_micros(NOW - timedelta(seconds=56.8)), 1), (to_micros(NOW), 1)]


def windowed(outside: Outside = Outside.DEFER) -> dict[str, Any]:
    """The fields of a run that a tick of a schedule with a window made."""
    options = Options(window=RunWindow("02:00", "06:00", "UTC", outside))
    return {"schedule": "01890000-0000-7000-8000-000000000001", "options_text": msgspec.json.encode(options).decode()}


@pytest.mark.parametrize(
    ("status", "fields", "facts", "says"),
    [
        (Status.SCHEDULED, {"scheduled_for": NOW + 3 * MINUTE}, {}, ["due in 3 min", "2030-01-01 12:03:00 UTC"]),
        (Status.SCHEDULED, {"scheduled_for": NOW - MINUTE}, {}, ["was due 60 s ago", "is any worker or scheduler"]),
        (
            Status.SCHEDULED,
            {"scheduled_for": NOW + MINUTE, "failures": 1, "attempt": 1, "error": "ValueError: x\ntraceback"},
            {},
            ["due in 60 s", "Attempt 1 failed: ValueError: x"],
        ),
        (
            Status.SCHEDULED,
            {"scheduled_for": NOW + MINUTE, "failures": 1, "attempt": 2, "reason": "busy"},  # failed, then snoozed
            {},
            ["due in 60 s", "Its handler asked for later: busy."],
        ),
        (
            Status.SCHEDULED,
            {"scheduled_for": NOW + MINUTE, "reason": "busy"},
            {},
            ["Its handler asked for later: busy."],
        ),
        (
            Status.SCHEDULED,
            {"scheduled_for": OPENING, "reason": "outside the window", "error": "E", "attempt": 1, **windowed()},
            {},
            ["put off to the window's opening at 2030-01-02 02:00:00 UTC, in 14 h (02:00–06:00, UTC). Attempt 1"],
        ),
        (
            Status.SCHEDULED,
            {"scheduled_for": OPENING, **windowed()},  # a tick outside the window made it
            {},
            ["It is due in 14 h, at 2030-01-02 02:00:00 UTC."],
        ),
        (
            Status.SCHEDULED,
            {"scheduled_for": NOW + MINUTE, **windowed()},
            {},
            ["outside the window (02:00–06:00, UTC): it will be put off to the window's opening at 2030-01-02 02:00"],
        ),
        (
            Status.SCHEDULED,
            {"scheduled_for": NOW + MINUTE, **windowed(Outside.SKIP)},
            {},
            ["outside the window (02:00–06:00, UTC): it will end."],
        ),
        (
            Status.QUEUED,
            {},
            {"pause": Pause("default", "default", None, NOW)},
            ["Queue default is paused since 2030-01-01 12:00:00 UTC", "`workbell queues resume default`"],
        ),
        (
            Status.QUEUED,
            {},
            {"pause": Pause("default", "mail", "send", NOW)},
            ["Job send in queue mail is paused", "`workbell queues resume mail --job send`"],
        ),
        (
            Status.QUEUED,
            {},
            {"pause": Pause("default", None, "send", NOW)},
            ["Job send is paused", "`workbell jobs resume send`"],
        ),
        (
            Status.QUEUED,
            {},
            {"held": [(Limit("default", "send", True, "7", 5, None, "customer"), Use(5))]},
            ["5 of 5 runs of job send with customer=7 are running"],
        ),
        (
            Status.QUEUED,
            {},
            {"held": [(Limit("default", "send", False, None, 5, Rate(2, 60)), Use(1, STARTS))]},
            ["2 of job send started in the last 60 s; the next may start in 3.2 s."],
        ),
        (
            Status.QUEUED,
            {},
            {"workers": Capability(0, 0, 0, 0)},
            ["No worker is running; start one: `workbell start`."],
        ),
        (
            Status.QUEUED,
            {},
            {"workers": Capability(2, 0, 0, 0)},
            ["2 workers are running, and none of them knows job 'send' (queue 'default')", "nothing is spent"],
        ),
        (
            Status.QUEUED,
            {},
            {"workers": Capability(1, 0, 0, 0)},
            ["1 worker is running, and it does not know job 'send'"],
        ),
        (Status.QUEUED, {}, {"workers": Capability(3, 2, 0, 0)}, ["none that knows job 'send' serves queue 'default'"]),
        (
            Status.QUEUED,
            {},
            {"workers": Capability(3, 1, 1, 0)},
            ["the only one that could take job 'send' from queue 'default' will stop; start another"],
        ),
        (
            Status.QUEUED,
            {},
            {"workers": Capability(3, 2, 1, 0, ("h/1/2/a",))},
            ["3 workers are running, and each one that could take", "is drained or will stop", "resume h/1/2/a"],
        ),
        (
            Status.QUEUED,
            {},
            {"pause": Pause("default", None, "send", NOW), "workers": Capability(0, 0, 0, 0)},
            ["is paused since"],
        ),
        (Status.QUEUED, {}, {}, ["first in its lane", "nobody is taking", "'send'", "'default'"]),
        (
            Status.QUEUED,
            {},
            {"workers": Capability(3, 2, 0, 2)},
            ["first in its lane", "each of the 2 workers for job 'send' in queue 'default' is busy"],
        ),
        (Status.QUEUED, {}, {"ahead": 7, "running": 2}, ["7 before it in its lane, 2 of the lane running"]),
        (Status.QUEUED, {}, {"ahead": 1000}, ["1,000 or more before it"]),
        (
            Status.QUEUED,
            {"expires_at": NOW},
            {"pause": Pause("default", "default", None, NOW)},
            ["has expired", "next sweep"],
        ),
        (Status.RUNNING, {"started_at": NOW - 5 * MINUTE}, {}, ["running: attempt 1, for 5 min, on w1."]),
        (Status.RUNNING, {"cancel_requested": True}, {}, ["Its end was asked for"]),
        (Status.RUNNING, {"lease_until": NOW}, {}, ["Its lease has run out"]),
        (Status.SUCCEEDED, {"finished_at": NOW - timedelta(hours=3)}, {}, ["succeeded 3 h ago"]),
        (
            Status.FAILED,
            {"finished_at": NOW - timedelta(days=3), "reason": "timeout", "attempt": 3, "error": "E: x\nmore"},
            {},
            ["failed 3 d ago (timeout) after 3 attempts: E: x"],
        ),
        (Status.FAILED, {"reason": "crashed"}, {}, ["no error was recorded"]),
        (Status.CANCELED, {"finished_at": NOW, "reason": "expired"}, {}, ["canceled 0.0 s ago: expired."]),
    ],
    ids=str,
)
def test_an_answer_for_every_state(
    status: Status, fields: dict[str, Any], facts: dict[str, Any], says: list[str]
) -> None:
    answer = explain(run_in(status, **fields), NOW, **facts)
    assert "\n" not in answer
    for part in says:
        assert part in answer


@pytest.mark.parametrize("status", Status)
def test_every_status_has_an_answer(status: Status) -> None:
    assert explain(run_in(status), NOW)


def test_an_empty_error_does_not_break_the_answer() -> None:
    assert explain(run_in(Status.FAILED, error="", reason="error"), NOW)
    assert explain(run_in(Status.FAILED, error="\n", reason="error"), NOW)

"""The log line of a run (B11): what came of it, after how long, and by whom."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any

import pytest

from tests.unit.makers import ID, NOW, run_in
from workbell.logs.facts import EVENT
from workbell.model import state
from workbell.model.run import Run, Status
from workbell.model.state import Move, Transition
from workbell.notices.bus import Notice
from workbell.notices.run_log import LINES, log_runs

KEEP = timedelta(days=1)
LATER = NOW + timedelta(seconds=2)
RUNNING = run_in(Status.RUNNING)
FRAMES = 'Traceback of app.errors.Refused (most recent call last):\n> File "a.py", line 1, in send\n    raise Refused'
ERROR = f"Refused: no: not\nnow\n{FRAMES}"
MOVED: dict[Move, Transition] = {
    Move.SUCCEED: state.succeed(RUNNING, LATER, result='{"a":1}', keep=KEEP),
    Move.RETRY: state.retry(RUNNING, LATER, error=ERROR, reason="error", wait=timedelta(seconds=5)),
    Move.FAIL: state.fail(RUNNING, LATER, error=ERROR, reason="timeout", keep=KEEP),
    Move.RELEASE: state.release(RUNNING, LATER, started_at=NOW),
    Move.SNOOZE: state.snooze(RUNNING, LATER, wait=timedelta(seconds=5), reason="busy"),
    Move.LOSE: state.lose(RUNNING, LATER, keep=KEEP),
    Move.CANCEL: state.cancel(RUNNING, LATER, reason="enough", keep=KEEP),
}
OF_THE_RUN = {"run_id": ID, "job": "send", "queue": "default", "tenant": "default", "attempt": 1, "worker_id": "w1"}
THE_ERROR = {
    "error.type": "app.errors.Refused",
    "error.message": "Refused: no: not\nnow",
    "error.stack": '> File "a.py", line 1, in send\n    raise Refused',
}
SAYS: dict[Move, dict[str, Any]] = {
    Move.SUCCEED: {"result": '{"a":1}'},
    Move.RETRY: {"again_at": "2030-01-01T12:00:07.000Z", **THE_ERROR},
    Move.FAIL: {"reason": "timeout", **THE_ERROR},
    Move.RELEASE: {},
    Move.SNOOZE: {"again_at": "2030-01-01T12:00:07.000Z", "reason": "busy"},
    Move.LOSE: {
        "reason": "worker lost",
        "error.message": "The worker stopped renewing its lease while it held this run.",
    },
    Move.CANCEL: {"reason": "enough"},
}


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.DEBUG, "workbell.runs")
    return caplog


def notice(change: Transition, run: Run = RUNNING) -> Notice:
    return Notice(change.move, change.after(run), change.ended)


def facts(record: logging.LogRecord) -> dict[str, Any]:
    own = {*logging.makeLogRecord({}).__dict__, "message", "taskName", "asctime"}
    return {name: value for name, value in record.__dict__.items() if name not in own}


@pytest.mark.parametrize("move", MOVED)
def test_every_move(move: Move, logged: pytest.LogCaptureFixture) -> None:
    log_runs([notice(MOVED[move])])
    (record,) = logged.records
    assert record.levelno == LINES[move].level
    assert facts(record) == OF_THE_RUN | {"duration_s": 2.0, EVENT: LINES[move].event} | SAYS[move]
    assert ID in record.getMessage(), "for formatters that show no facts"
    assert "send" in record.getMessage()


def test_a_start_is_a_trace(logged: pytest.LogCaptureFixture) -> None:
    log_runs([Notice(Move.START, RUNNING), Notice(Move.DISPATCH, RUNNING)])
    (record,) = logged.records
    assert record.levelno == logging.DEBUG
    assert facts(record) == OF_THE_RUN | {EVENT: "run started"}
    logged.clear()
    logged.set_level(logging.INFO, "workbell.runs")
    log_runs([Notice(Move.START, RUNNING)])
    assert not logged.records


@pytest.mark.parametrize(
    ("result", "shown"),
    [('"Hello, \\"you\\""', 'Hello, "you"'), ("[1, 2]", "[1, 2]"), ('"' + "x" * 500 + '"', '"' + "x" * 198 + "…")],
)
def test_a_result_is_shortened(result: str, shown: str, logged: pytest.LogCaptureFixture) -> None:
    log_runs([notice(state.succeed(RUNNING, LATER, result=result, keep=KEEP))])
    assert facts(logged.records[0])["result"] == shown


@pytest.mark.parametrize(
    ("error", "told"),
    [
        ("ValueError\nTraceback of builtins.ValueError: none", {"error.type": "builtins.ValueError"}),
        ("a.E: x\nTraceback of a.E: none", {"error.type": "a.E", "error.message": "x"}),
        ("Busy: x\n\nCaused by: E: y", {"error.message": "Busy: x", "error.stack": "Caused by: E: y"}),
        ("What came of it could not be stored", {"error.message": "What came of it could not be stored"}),
        ("", {}),
    ],
)
def test_errors_are_taken_apart(error: str, told: dict[str, str], logged: pytest.LogCaptureFixture) -> None:
    log_runs([notice(state.fail(RUNNING, LATER, error=error, reason="error", keep=KEEP))])
    found = facts(logged.records[0])
    assert {name: value for name, value in found.items() if name.startswith("error")} == told

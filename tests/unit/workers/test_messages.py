"""B4: one vocabulary between a supervisor and its children; what must not be logged is not."""

from __future__ import annotations

import multiprocessing
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from workbell.engine.finish import KeptOutcome
from workbell.model.event import Event
from workbell.model.log_line import LogLine
from workbell.model.run import Lane, NewRun, Run, Status
from workbell.model.state import fail
from workbell.notices.push_message import Broadcast, SendToUser
from workbell.workers.messages import (
    Bury,
    ChildHeartbeat,
    DeathVerdict,
    ExecutingRun,
    KeepLeases,
    LeasesKept,
    Message,
    OutcomesKept,
    OutcomesSettled,
    Stop,
    StoreNamed,
    WorkerError,
    WorkerShutdown,
    WorkerStarted,
    decode,
    encode,
    shown,
)
from workbell.workers.pipe import Pipe

NOW = datetime(2026, 11, 16, 1, 2, 3, 456789, tzinfo=UTC)
RUN = Run(
    "r",
    Lane("default", "mail", "send"),
    Status.RUNNING,
    0,
    NOW,
    NOW,
    NOW,
    1,
    token=7,
    worker="w",
    input_text='{"secret":1}',
)
FAILED = fail(
    RUN,
    NOW,
    error="secret",
    reason="error",
    keep=timedelta(days=30),
    then=(NewRun(RUN, key_span=timedelta(seconds=1.5)),),
)
EMITTED = Event("e", "default", "job.failed", "/workbell", NOW, NOW)
KEPT = KeptOutcome(
    RUN,
    msgspec.structs.replace(FAILED, emits=(EMITTED,)),
    '{"done":1}',
    [LogLine("r", 1, 0, NOW, "INFO", "secret")],
)
MESSAGES: list[Message] = [
    WorkerStarted("w", 7, 3, 1.0),
    StoreNamed("postgresql://u:secret@h/d", 30.0, 1.0, 2.0),
    WorkerShutdown("w", 2),
    WorkerError("it broke", 70),
    ChildHeartbeat("w", [ExecutingRun("r", "send", 1.5)], 12, 1 << 20),
    ChildHeartbeat("w", [], 12, 1 << 20, 2.5, drained=True),
    Stop(at_once=True),
    Stop(patience=2.5),
    OutcomesKept("m", "w", [KEPT]),
    OutcomesSettled(["m"]),
    KeepLeases([LeasesKept("w", 7)]),
    Bury("w", "exited with code 3", DeathVerdict.BLAMED, ["a"], ["b"]),
    SendToUser("default", 5, '{"secret":1}'),
    Broadcast("default", '{"secret":1}'),
    SendToUser("default", 5, '{"secret":1}', "an-id", datetime(2026, 11, 16, tzinfo=UTC)),
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_a_message_comes_out_as_it_went_in(message: Message) -> None:
    assert decode(encode(message)) == message


def test_the_words_of_the_vocabulary() -> None:
    words = {str(type(message).__struct_config__.tag) for message in MESSAGES}
    assert {"worker-started", "worker-shutdown", "worker-error", "heartbeat", "send-to-user", "broadcast"} <= words


def test_secrets_are_not_shown() -> None:
    assert all("secret" not in shown(message) for message in MESSAGES)


def test_a_line_says_when_the_other_end_is_gone() -> None:
    here, there = multiprocessing.Pipe()
    line, other = Pipe(here, "child"), Pipe(there, "supervisor")
    assert not line.waits()
    assert other.send(Stop())
    assert line.waits()
    assert line.receive() == Stop()
    other.close()
    assert line.waits()
    assert line.receive() is None
    assert not line.send(Stop())
    line.close()

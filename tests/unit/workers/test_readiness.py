"""Readiness: every process was answered by the store within three polls and some seconds, and none is drained."""

from __future__ import annotations

import pytest

from workbell.workers.readiness import LOOP_PATIENCE, SLACK, Readiness

POLL = 1.0


class Moments:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def moments() -> Moments:
    return Moments()


@pytest.fixture
def readiness(moments: Moments) -> Readiness:
    readiness = Readiness(["server", "worker 1"], moments)
    for name in ("server", "worker 1"):
        readiness.note_start(name, POLL)
    return readiness


def all_answered(readiness: Readiness) -> None:
    for name in ("server", "worker 1"):
        readiness.note_heartbeat(name, 0.0, drained=False)


def test_only_after_the_first_poll_of_each_process(readiness: Readiness) -> None:
    assert readiness.problem() == "server has not polled the store yet"
    readiness.note_heartbeat("server", 0.0, drained=False)
    readiness.note_heartbeat("worker 1", None, drained=False)
    assert readiness.problem() == "worker 1 has not polled the store yet"
    readiness.note_heartbeat("worker 1", 0.0, drained=False)
    assert readiness.problem() is None


@pytest.mark.parametrize("beats", [True, False], ids=["a frozen store", "a frozen process"])
def test_polls_that_are_not_answered(readiness: Readiness, moments: Moments, beats: bool) -> None:
    """The last answer was at most a poll before the first heartbeat here: so it is red within three polls and 5 s."""
    all_answered(readiness)
    began = moments.now
    problem = None
    while problem is None and moments.now < began + 60:
        moments.now += 0.5
        readiness.note_step()
        readiness.note_heartbeat("server", 0.0, drained=False)
        if beats:
            readiness.note_heartbeat("worker 1", moments.now - began, drained=False)
        problem = readiness.problem()
    assert moments.now - began == 2 * POLL + SLACK + 0.5
    assert problem == "worker 1: no poll of the store has succeeded for 6 s"
    readiness.note_heartbeat("worker 1", 0.0, drained=False)
    assert readiness.problem() is None


def test_a_successor_that_is_still_loading_takes_nothing_away(readiness: Readiness, moments: Moments) -> None:
    all_answered(readiness)
    for _ in range(60):
        moments.now += 1
        readiness.note_step()
        all_answered(readiness)  # by the one before
        readiness.note_heartbeat("worker 1", None, drained=False)  # by its successor
        assert readiness.problem() is None
    # The one before ends its polls, and the successor's are answered.
    readiness.note_heartbeat("worker 1", 0.0, drained=False)
    readiness.note_heartbeat("worker 1", 50.0, drained=False)
    assert readiness.problem() is None


def test_a_slow_pace_has_more_patience(readiness: Readiness, moments: Moments) -> None:
    all_answered(readiness)
    readiness.note_start("worker 1", 10.0)
    moments.now += 20 + SLACK
    readiness.note_step()
    readiness.note_heartbeat("server", 0.0, drained=False)
    assert readiness.problem() is None
    moments.now += 1
    assert readiness.problem() is not None


def test_a_drained_worker_is_not_ready_but_polls(readiness: Readiness) -> None:
    all_answered(readiness)
    readiness.note_heartbeat("worker 1", 0.0, drained=True)
    assert readiness.problem() == "worker 1 is drained"
    assert readiness.silent() is None
    readiness.note_heartbeat("worker 1", 0.0, drained=False)
    assert readiness.problem() is None


def test_one_that_stops_is_not_ready(readiness: Readiness) -> None:
    all_answered(readiness)
    readiness.stopping = True
    assert readiness.problem() == "stopping"
    assert readiness.stalled() is None


def test_a_supervisor_that_hangs_is_neither_alive_nor_ready(readiness: Readiness, moments: Moments) -> None:
    all_answered(readiness)
    moments.now += LOOP_PATIENCE + 1
    all_answered(readiness)
    assert readiness.stalled() == "the supervisor has been busy with one step for 11 s"
    assert readiness.problem() == readiness.stalled()
    readiness.note_step()
    assert readiness.problem() is None


def test_heartbeats_of_the_keeper_count_for_nothing(readiness: Readiness) -> None:
    readiness.note_start("keeper", 1.0)
    readiness.note_heartbeat("keeper", 0.0, drained=False)
    assert readiness.problem() == "server has not polled the store yet"

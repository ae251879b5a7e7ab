"""Heartbeats of an agent: when there must be one at once."""

from __future__ import annotations

import time

import pytest

from tests.support.waiting import until
from workbell.agent_program.heartbeat import AgentHeartbeat
from workbell.remote.call import RemoteCall
from workbell.wire.agents import LeasesShown


class Line:
    def __init__(self) -> None:
        self.posts = 0

    def send(self, _call: RemoteCall[LeasesShown]) -> LeasesShown:
        self.posts += 1
        return LeasesShown(runs=[])


@pytest.mark.parametrize(("ago", "at_once"), [(25.0, True), (0.0, False)])
def test_what_came_late_in_a_long_poll_has_a_heartbeat_at_once(ago: float, at_once: bool) -> None:
    """Its lease is counted from when it was asked for: else it would seem lost as soon as the line breaks."""
    line = Line()
    heartbeat = AgentHeartbeat(line, "s", 30.0, list, lambda _hand, _cancel: None)  # type: ignore[arg-type]
    heartbeat.expect(time.monotonic() - ago)
    assert heartbeat._woken.is_set() is at_once
    heartbeat.start()
    if at_once:
        until(lambda: line.posts == 1, "the heartbeat")
    heartbeat.stop()
    assert line.posts == at_once

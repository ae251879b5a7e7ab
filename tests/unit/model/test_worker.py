"""Who was seen lately, also when the clock was put since (P13)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.support.fresh_store import fresh_store
from tests.unit.makers import NOW, worker_of
from workbell import Workbell
from workbell.model.clock import ManualClock
from workbell.model.worker import LOST_AFTER
from workbell.settings import Settings

HOUR = timedelta(hours=1)


def test_a_worker_is_alive_while_it_is_seen() -> None:
    seen = worker_of(now=NOW)
    assert seen.is_alive(NOW)
    assert seen.is_alive(NOW + LOST_AFTER)
    assert not seen.is_alive(NOW + LOST_AFTER + timedelta(seconds=1))
    assert seen.is_alive(NOW - timedelta(seconds=5))  # another's clock may be ahead
    assert not seen.is_alive(NOW - HOUR)  # the clock was put back: whoever lives is seen again in a moment


@pytest.mark.parametrize("hours", [1, -1])
def test_an_agent_that_asks_is_seen_after_a_step(hours: float) -> None:
    clock = ManualClock()
    bell = Workbell(store=fresh_store(clock), settings=Settings())
    agent = bell.agents.pair(bell.agents.pairing("web-1", labels=[]).text, host="box", version="1").agent
    bell.agents.working.poll(agent)
    clock.put(hours=hours)
    bell.agents.working.poll(bell.store.agents.find(agent.id) or agent)
    known = bell.store.agents.find(agent.id)
    assert known is not None
    assert (known.seen_at, known.is_alive(clock.now())) == (clock.now(), True)
    bell.close()

"""Events are fanned out once, though everybody who emits and fans out is killed again and again (C3, C4, F2)."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from tests.support.checker import check, report
from tests.support.event_app import POINTS, is_there
from tests.support.event_checker import Facts, check_fan_out, facts
from tests.support.event_triggers import add_fifty
from tests.support.processes import Site, kill
from tests.support.waiting import until
from workbell import Workbell
from workbell.model.run import FINAL

SOAK = os.environ.get("WORKBELL_SOAK") == "1"
# Some are rolled back: 1,000 events are there in the end, 10,000 in the long version.
EVENTS, DEATHS = (10_912, 240) if SOAK else (1088, 18)
LIMIT = 1800 if SOAK else 110


@pytest.mark.timeout(LIMIT)
def test_one_run_for_each_match(tmp_path: Path, sql_store_url: str) -> None:
    """Schedulers die at every point of a fan-out, and anywhere; emitters die too, and some commit late, or not."""
    seed = os.environ.get("WORKBELL_SEED") or str(random.randrange(10**6))
    print(f"WORKBELL_SEED={seed}")
    with Site(tmp_path, sql_store_url) as site, Workbell(sql_store_url) as bell:
        bell.store.check()
        hearers = add_fifty(bell.store)
        crew = site.start(seed, str(EVENTS), str(DEATHS), program="event_app")

        def done() -> bool:
            assert crew.poll() is None, f"the crew ended with {crew.returncode}"
            return any(event["kind"] == "done" for event in site.events())

        until(done, "every event to be emitted, and everybody to die who was to", LIMIT - 20)
        until(lambda: not bell.store.events.waiting(1), "every event to be fanned out", 60)
        until(lambda: bell.runs(status=FINAL, limit=1), "an engine to work something off", 60)
        kill(crew)

        recorded = site.events()
        held = facts(bell.store)
        violations = check_fan_out(held, hearers) + check(bell.store, recorded, settled=False)
        assert not violations, report(violations)

        # What was committed is there, once, and what was rolled back is not.
        numbers = [number for number in range(EVENTS) if is_there(number, EVENTS)]
        assert sorted(event.data["number"] for event in held.events.values()) == numbers
        emitted = {event["number"]: event["event"] for event in recorded if event["kind"] == "emitted"}
        assert {event.data["number"]: event.id for event in held.events.values()} == emitted
        back = {event["event"] for event in recorded if event["kind"] == "rolled back"}
        assert back
        assert not back & held.events.keys()

        # Without its guard a store would not write twice either: the key of the ledger refuses that. It is a last wall.
        assert "refused" not in site.logged()

        # And all of it was hard: otherwise this proves nothing.
        reached = {event["point"] for event in recorded if event["kind"] == "dying"}
        assert reached == set(POINTS) - {"outside"}
        assert sum(event["kind"] == "dying" for event in recorded) == DEATHS // len(POINTS) * (len(POINTS) - 1)
        assert any(run.status.final for run in held.runs), "no engine has worked off anything"
        print(f"{len(held.events)} events, {len(held.runs)} runs, {overtaken(held)} overtaken by younger ones")
        assert overtaken(held) > EVENTS // 20 or sql_store_url.startswith("sqlite")


def overtaken(held: Facts) -> int:
    """How many were fanned out after some that are younger."""
    count, earliest = 0, None
    for event in sorted(held.events.values(), key=lambda event: event.id, reverse=True):
        assert event.fanned_out_at is not None
        if earliest is not None and event.fanned_out_at > earliest:
            count += 1
        earliest = event.fanned_out_at if earliest is None else min(earliest, event.fanned_out_at)
    return count

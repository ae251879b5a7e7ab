"""Listeners of this process (A7): what they may ask for, what they hear, and that nothing is made for nobody."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.unit.makers import NOW, run_in
from workbell.errors import InvalidEvent, InvalidOption
from workbell.model import state
from workbell.model.run import Run, Status
from workbell.model.state import Move, Transition
from workbell.model.system_events import SCHEDULE_SKIPPED, WORKER_LOST
from workbell.notices.bus import Bus, Notice
from workbell.notices.listeners import LifecycleEvent, about_worker, listen, nothing_known

KEEP = timedelta(days=1)
RUNNING = run_in(Status.RUNNING)
SUCCEED = state.succeed(RUNNING, NOW, result=None, keep=KEEP)
FAIL = state.fail(RUNNING, NOW, error="-", reason="error", keep=KEEP)
LOST = state.lose(RUNNING, NOW, keep=KEEP)
LOSS = about_worker("box/1/2/a", [RUNNING], NOW)


def notice(change: Transition, run: Run = RUNNING) -> Notice:
    return Notice(change.move, change.after(run), change.ended)


@pytest.mark.parametrize(
    ("pattern", "moves", "facts"),
    [
        ("job.completed", {Move.SUCCEED}, set()),
        ("job.failed", {Move.FAIL, Move.LOSE}, set()),
        ("job.*", {Move.START, Move.SUCCEED, Move.FAIL, Move.LOSE}, set()),
        ("run.**", {Move.CANCEL, Move.FAIL}, set()),
        ("schedule.skipped", set(), {SCHEDULE_SKIPPED}),
        ("worker.*", set(), {WORKER_LOST}),
    ],
)
def test_only_what_is_heard_is_made(pattern: str, moves: set[Move], facts: set[str]) -> None:
    bus = Bus()
    stop = listen(bus, pattern, lambda _event: None, nothing_known)
    assert bus.wanted == moves
    assert {kind for kind in (SCHEDULE_SKIPPED, WORKER_LOST) if bus.wants_fact(kind)} == facts
    stop()
    assert not bus.wanted
    assert not bus.wants_fact(WORKER_LOST)
    assert not bus.wants_fact(SCHEDULE_SKIPPED)


@pytest.mark.parametrize("pattern", ["jobs.done", "job", "job.done", "*", "**", "*.completed", "webhook.disabled"])
def test_a_pattern_that_can_match_nothing_is_refused(pattern: str) -> None:
    with pytest.raises(InvalidOption, match=r"matches none of job\.started, .*worker\.lost") as refused:
        listen(Bus(), pattern, lambda _event: None, nothing_known)
    assert ("as in job.*" in str(refused.value)) == pattern.startswith("*")


@pytest.mark.parametrize("pattern", ["job*", "", "job..x", "job.[cf]*"])
def test_what_is_no_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(InvalidEvent, match="pattern"):
        listen(Bus(), pattern, lambda _event: None, nothing_known)


def test_a_listener_that_raises_keeps_nothing_from_the_others() -> None:
    bus, heard = Bus(), list[LifecycleEvent]()

    def broken(_event: LifecycleEvent) -> None:
        raise RuntimeError("a listener's own trouble")

    listen(bus, "job.*", broken, nothing_known)
    listen(bus, "worker.lost", broken, nothing_known)
    listen(bus, "job.*", heard.append, nothing_known)
    listen(bus, "worker.lost", heard.append, nothing_known)
    bus.publish([notice(SUCCEED), notice(FAIL), notice(LOST)])  # the last is no end
    bus.publish_facts([LOSS])
    assert [event.type for event in heard] == ["job.completed", "job.failed", "worker.lost"]


def test_runs_that_are_left_out_are_not_heard_of() -> None:
    bus, heard = Bus(), list[LifecycleEvent]()
    listen(bus, "job.*", heard.append, nothing_known, leave_out=frozenset({RUNNING.job}))
    bus.publish([notice(SUCCEED)])
    assert heard == []


def test_what_does_not_apply_is_left_out_for_json() -> None:
    assert LOSS.as_dict() == {
        "type": "worker.lost",
        "time": NOW,
        "worker": "box/1/2/a",
        "host": "box",
        "count": 1,
        "runs": (RUNNING.id,),
    }

"""Bad runs among good ones: those that kill, hang or devour their worker fail by themselves, the rest succeeds (F1)."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from pathlib import Path

import pytest

from tests.support.checker import check, report, snapshot
from tests.support.fleet import Fleet
from tests.support.waiting import until
from tests.support.worker_app import declare
from workbell import Status, Workbell
from workbell.model.run import LIVE, AttemptStatus, Run

SOAK = os.environ.get("WORKBELL_SOAK") == "1"
GOOD, EACH = (10_000, 10) if SOAK else (1_000, 1)
LIMIT = 1800 if SOAK else 110
# What each of them ends with, and how many failures that takes: of a retry that allows two attempts, or of none.
BAD = {
    "exits": ("crashed", 0),
    "segfaults": ("crashed", 0),
    "eats": ("memory", 2),
    "loops": ("timeout", 2),
    "blocks": ("timeout", 1),
}
HARMLESS = {AttemptStatus.LOST, AttemptStatus.RELEASED}


@pytest.mark.timeout(LIMIT)
def test_bad_runs_among_good_ones(tmp_path: Path, sql_store_url: str) -> None:
    with Fleet(tmp_path, sql_store_url, LEASE="2", LOG_LEVEL="warning") as site, Workbell(sql_store_url) as bell:
        declare(bell, site.recorder, site.gates)
        bell.store.check()
        fleet = site.supervise("worker", "--processes", "3", "--concurrency", "4")
        site.await_workers(fleet, 3)
        # In small groups, so that good ones are at work and in line wherever a bad one strikes.
        good: list[Run] = []
        bad: list[Run] = []
        for turn in range(10):
            good += bell.enqueue_many(
                [(job, {"number": number}) for number in range(GOOD // 20) for job in ("short_async", "short_plain")]
            )
            if turn < len(BAD):
                bad += bell.enqueue_many([(list(BAD)[turn], {})] * EACH)
        site.recorder.acknowledged([*good, *bad])
        until(lambda: not bell.runs(status=LIVE, limit=1), "every run to end", LIMIT - 20)

        held = snapshot(bell.store)
        by_id, attempts = held.by_id(), defaultdict(list)
        for attempt in held.attempts:
            attempts[attempt.run].append(attempt.status)
        for run in [by_id[run.id] for run in bad]:
            reason, failures = BAD[run.job]
            assert (run.status, run.reason, run.failures) == (Status.FAILED, reason, failures), run
            assert run.crashes == (3 if reason == "crashed" else 0), run
            if reason == "crashed":  # once beside others, and three times alone
                assert run.losses >= 4, run
                assert set(attempts[run.id]) <= HARMLESS, run
        for run in [by_id[run.id] for run in good]:
            assert run.status is Status.SUCCEEDED, run
            assert (run.failures, run.crashes) == (0, 0), run
            assert len(attempts[run.id]) == run.attempt - 1, run
            assert set(attempts[run.id]) <= HARMLESS, run
        held_at_a_death = [int(found) for found in re.findall(r"given back of what it held: (\d+)", site.logged())]
        assert max(held_at_a_death) > 1, "none stood beside a bad one: the test proves nothing"
        violations = check(bell.store, site.events())
        assert not violations, report(violations)

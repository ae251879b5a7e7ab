"""Unserved: queued runs that no living worker can take are told of once a minute; they wait, and nothing is spent."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator
from datetime import datetime

from workbell.model.capability import capability, shortfall
from workbell.stores.port import Store

log = logging.getLogger("workbell.scheduler")

FIRST = 5.0  # seconds after the start: workers that are started together make themselves known meanwhile
PAUSE = 60.0
LINES = 10
PAGE = 500


class UnservedRuns:
    """Looks at the heads of the lanes, which is cheap; runs are counted only if there is something to tell."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._begun = False

    def step(self, now: datetime) -> float:
        if not self._begun:
            self._begun = True
            return FIRST
        workers = self._store.workers.list()
        missing = {}
        for queue, job in set(self._waiting()):
            reason = shortfall(capability(workers, queue, job, now), queue, job)
            if reason is not None:
                missing[queue, job] = reason
        if missing:
            self._tell(missing)
        return PAUSE

    def _waiting(self) -> Iterator[tuple[str, str]]:
        """Queue and job of every lane that has queued runs and is not paused; those of agents are not ours."""
        after = -1
        while True:
            heads = self._store.runs.survey(after, PAGE)
            for head in heads:
                if head.lane.target is None:
                    yield head.lane.queue, head.lane.job
            if len(heads) < PAGE:
                return
            after = heads[-1].lane_id

    def _tell(self, missing: dict[tuple[str, str], str]) -> None:
        queued: Counter[tuple[str, str]] = Counter()
        for counts in self._store.reports.counts():
            lane = counts.lane
            if lane.target is None and not counts.paused and (lane.queue, lane.job) in missing:
                queued[lane.queue, lane.job] += counts.queued
        told = [(place, count) for place, count in queued.most_common() if count]
        for (queue, job), count in told[:LINES]:
            facts = {"queue": queue, "job": job, "queued": count}
            runs = "1 run waits" if count == 1 else f"{count:,} runs wait"
            log.warning("%s of job %r in queue %r: %s", runs, job, queue, missing[queue, job], extra=facts)
        if len(told) > LINES:
            log.warning("and so do runs of %d more jobs; `workbell doctor` names them", len(told) - LINES)

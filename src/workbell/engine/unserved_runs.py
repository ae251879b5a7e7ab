"""Unserved runs: a warning once a minute about queued runs that no living worker can execute; they wait."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime

from workbell.model.capability import unserved
from workbell.model.run import Lane
from workbell.stores.port import Store

log = logging.getLogger("workbell.scheduler")

FIRST_CHECK = 5.0  # seconds after the start: workers that are started together make themselves known meanwhile
PAUSE = 60.0  # seconds between two warnings; ten polls, if that is longer
MOST_WARNINGS = 10  # one for each queue and job
PAGE = 500


class UnservedRuns:
    """Surveys the heads of the lanes, which is cheap; runs are counted only if there is something to warn of."""

    def __init__(self, store: Store, poll: float = 1.0) -> None:
        self._store = store
        self._pause = max(PAUSE, 10 * poll)
        self._begun = False

    def step(self, now: datetime) -> float:
        if not self._begun:
            self._begun = True
            return FIRST_CHECK
        workers = self._store.workers.list()
        unknown = [
            lane for lane in set(self._waiting()) if unserved(workers, lane.queue, lane.job, now, None) is not None
        ]
        missing: dict[Lane, str] = {}
        defined = {(job.tenant, job.name): job for job in self._store.definitions.list()} if unknown else {}
        for lane in unknown:
            definition = defined.get((lane.tenant, lane.job))
            reason = unserved(workers, lane.queue, lane.job, now, definition)
            if reason is not None and (definition is None or definition.enabled):  # disabled is as good as paused
                missing[lane] = reason
        if missing:
            self._warn(missing)
        return self._pause

    def _waiting(self) -> Iterator[Lane]:
        """Lanes that have queued runs and are not paused, without their keys; those of agents are not ours."""
        after = -1
        while True:
            heads = self._store.runs.survey(after, PAGE)
            for head in heads:
                if head.lane.target is None:
                    yield Lane(head.lane.tenant, head.lane.queue, head.lane.job)
            if len(heads) < PAGE:
                return
            after = heads[-1].lane_id

    def _warn(self, missing: Mapping[Lane, str]) -> None:
        queued: Counter[tuple[str, str, str]] = Counter()
        capped: set[tuple[str, str, str]] = set()
        for counts in self._store.reports.counts():
            lane = counts.lane
            reason = missing.get(Lane(lane.tenant, lane.queue, lane.job))
            if lane.target is None and not counts.paused and reason is not None:
                queued[lane.queue, lane.job, reason] += counts.queued
                capped |= {(lane.queue, lane.job, reason)} if "queued" in counts.capped else set()
        waiting = [(key, count) for key, count in queued.most_common() if count]
        for (queue, job, reason), count in waiting[:MOST_WARNINGS]:
            facts = {"queue": queue, "job": job, "queued": count}
            least = "at least " if (queue, job, reason) in capped else ""
            runs = "1 run waits" if count == 1 else f"{least}{count:,} runs wait"
            log.warning("%s of job %r in queue %r: %s", runs, job, queue, reason, extra=facts)
        if len(waiting) > MOST_WARNINGS:
            log.warning("and so do runs of %d more jobs; `workbell doctor` names them", len(waiting) - MOST_WARNINGS)

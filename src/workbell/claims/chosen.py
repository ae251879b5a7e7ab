"""Claims of chosen runs, by their ids: for messages that name a run, and for commands. Limits and pauses hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from workbell.claims.claiming import Claimant, TenantCache
from workbell.model.ids import id_of
from workbell.model.limit import Limit
from workbell.model.run import Lane, Run, Status
from workbell.stores.port import LeaseTerms, Store


class ChosenClaims:
    """Claims from a list of runs, until none of them is left that can start. Fairness has no say in it."""

    free_at: datetime | None = None
    exhausted = guessed = False

    def __init__(self, store: Store, ids: Iterable[str]) -> None:
        self._store = store
        self._left = list(dict.fromkeys(map(id_of, ids)))  # a message may name what was imported
        self._tenants = TenantCache(store)

    def forget_survey(self, *, lone: bool = False) -> None:
        """There is none: the runs are chosen."""

    def claim(self, claimant: Claimant, limit: int, now: datetime, slots: int | None = None) -> list[Run]:
        """Up to `limit` runs, or as many as there are slots. Those that a limit holds up are tried again next time."""
        most = limit if slots is None else min(slots, limit)
        if most <= 0 or not self._left:
            return []
        found = self._store.runs.find(self._left)
        able = [run for run_id in self._left if (run := found.get(run_id)) is not None and _is_able(run, claimant)]
        self._left = [run.id for run in able]
        self._tenants.refresh(now)
        limits = {run.lane.id: on for run in able if (on := self._limits_on(claimant, run.lane))}
        terms = LeaseTerms(claimant.worker, now, now + claimant.lease, claimant.draw_token())
        for start in range(0, len(able), most):
            ids = [run.id for run in able[start : start + most]]
            taken = self._store.runs.take(ids, terms, limits=limits or None)
            if taken:
                gone = {run.id for run in taken}
                self._left = [run_id for run_id in self._left if run_id not in gone]
                return taken
        return []

    def _limits_on(self, claimant: Claimant, lane: Lane) -> Sequence[Limit]:
        of_tenant = self._tenants.limits.get(lane.tenant)
        of_job = claimant.limits(lane)
        return of_job if of_tenant is None else (*of_job, of_tenant)


def _is_able(run: Run, claimant: Claimant) -> bool:
    return run.status is Status.QUEUED and claimant.serves(run.lane)

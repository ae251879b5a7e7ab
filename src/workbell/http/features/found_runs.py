"""Runs in answers to searches, with the status of their retries."""

from __future__ import annotations

from collections.abc import Sequence

from workbell.client.local import LocalClient
from workbell.model.run import Run
from workbell.wire.runs import FoundRun, RetriedBy


def found_runs(client: LocalClient, runs: Sequence[Run]) -> list[FoundRun]:
    """Runs with their newest retries, in one read of the store: only finished runs can have been retried."""
    retries = client.store.reports.retries([run.id for run in runs if run.status.final])
    shown = {run_id: RetriedBy(id=retry.id, status=retry.status) for run_id, retry in retries.items()}
    return [FoundRun.of(run, retried_by=shown.get(run.id)) for run in runs]

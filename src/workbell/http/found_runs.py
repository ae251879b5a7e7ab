"""Runs in answers to searches, with the status of their retries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbell.client.local import LocalClient
from workbell.model.run import Run


def found_runs(client: LocalClient, runs: Sequence[Run]) -> list[dict[str, Any]]:
    """Runs with their newest retries, in one read of the store: only finished runs can have been retried."""
    retries = client.store.reports.retries([run.id for run in runs if run.status.final])
    shown = {run_id: retry.as_dict() for run_id, retry in retries.items()}
    return [run.as_dict() | {"retried_by": shown.get(run.id)} for run in runs]

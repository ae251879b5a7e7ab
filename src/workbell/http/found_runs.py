"""Runs as they are shown to whoever looks for them: with what became of their retries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbell.client.client import Client
from workbell.model.run import Run


def found_runs(client: Client, runs: Sequence[Run]) -> list[dict[str, Any]]:
    """In one look at the store for all of them: only what has ended can have been retried."""
    retries = client.store.reports.retries([run.id for run in runs if run.status.final])
    shown = {run_id: retry.as_dict() for run_id, retry in retries.items()}
    return [run.as_dict() | {"retried_by": shown.get(run.id)} for run in runs]

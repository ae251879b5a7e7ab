"""Runs by their ids."""

from __future__ import annotations

from collections.abc import Iterable

from workbell.model.run import Run
from workbell.stores.database import Database, Statement
from workbell.stores.runs.lanes import Lanes


def find_runs(database: Database, lanes: Lanes, ids: Iterable[str]) -> dict[str, Run]:
    """Live runs are read first: one that ends between the two statements is then found in history."""
    wanted = {"ids": list(ids)}
    live, finished = database.read([Statement("find_live", wanted), Statement("find_finished", wanted)])
    return {run.id: run for run in lanes.make_runs([*live, *finished])}

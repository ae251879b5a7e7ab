"""Finds a run by its id, or by the beginning or end of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import click

from workbell.app import Workbell
from workbell.cli.bell import AnyClient, AnyRun, of_tenant
from workbell.errors import InvalidOption, RunNotFound
from workbell.model.ids import is_id
from workbell.runs.filters import PAGE

SHORTEST = 6
SHORT = 8  # letters of an id that are shown in lists, from its end: its beginning is the time, and the same for many

Command = TypeVar("Command", bound=Callable[..., Any])


def run_argument(command: Command) -> Command:
    return click.argument("run_id", metavar="ID")(command)


def short(run_id: str) -> str:
    return run_id[-SHORT:]


def find_run(bell: AnyClient, text: str) -> AnyRun:
    """A part of an id is searched among the last runs only: no store has an index for it."""
    part = text.strip().lower()
    if is_id(part):
        return bell.get(part)
    if len(part) < SHORTEST:
        raise RunNotFound(f"There is no run {text!r}; give its id, or at least {SHORTEST} letters of it.")
    found = [run for run in bell.runs(limit=PAGE) if run.id.endswith(part) or run.id.startswith(part)]
    if not found:
        among = f"the last {PAGE:,} {of_tenant(bell)}"
        raise RunNotFound(f"There is no run {text!r} among {among}; an older one needs its whole id.")
    if len(found) > 1:
        listed = ", ".join(run.id for run in found[:3])
        raise InvalidOption(f"{text!r} is a part of {len(found)} ids, such as {listed}; give more of it.")
    return found[0]


def runs_by_id(bell: AnyClient, ids: Sequence[str]) -> Mapping[str, AnyRun]:
    """Those of some runs that are still there."""
    if isinstance(bell, Workbell):
        return bell.store.runs.find(ids)
    found: dict[str, AnyRun] = {}
    for run_id in ids:
        with suppress(RunNotFound):
            found[run_id] = bell.get(run_id)
    return found

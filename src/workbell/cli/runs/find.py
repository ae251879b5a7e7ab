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
    """By the whole id, also one that the run was imported with. A part of one is searched among the last runs only: no
    store has an index for it."""
    whole = text.strip()
    part = whole.lower()
    if is_id(part):
        return bell.get(part)
    if whole.isprintable() and whole.strip(".") and "/" not in whole:  # it may become part of an address
        with suppress(RunNotFound):
            return bell.get(whole)
    if len(part) < SHORTEST:
        raise RunNotFound(f"There is no run {text!r}; give its id, or at least {SHORTEST} letters of it.")
    found = [run for run in bell.runs(limit=PAGE) if _has_part(run, part)]
    if not found:
        among = f"the last {PAGE:,} {of_tenant(bell)}"
        raise RunNotFound(f"There is no run {text!r} among {among}; an older one needs its whole id.")
    if len(found) > 1:
        listed = ", ".join(run.imported_id or run.id for run in found[:3])
        raise InvalidOption(f"{text!r} is a part of {len(found)} ids, such as {listed}; give more of it.")
    return found[0]


def _has_part(run: AnyRun, part: str) -> bool:
    ids = (run.id, (run.imported_id or "").lower())
    return any(each.endswith(part) or each.startswith(part) for each in ids)


def run_cursor(bell: AnyClient, text: str) -> str:
    """The id that a page of runs goes on from. A whole one is a place in the list, also of a run that was removed."""
    part = text.strip().lower()
    return part if is_id(part) else find_run(bell, part).id


def runs_by_id(bell: AnyClient, ids: Sequence[str]) -> Mapping[str, AnyRun]:
    """Those of some runs that are still there."""
    if isinstance(bell, Workbell):
        return bell.store.runs.find(ids)
    found: dict[str, AnyRun] = {}
    for run_id in ids:
        with suppress(RunNotFound):
            found[run_id] = bell.get(run_id)
    return found

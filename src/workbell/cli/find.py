"""Finds a thing by its id, or by the beginning or end of it: on a database and over a service alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from heapq import merge
from operator import attrgetter
from typing import TypeVar

from workbell.access.tokens import MOST
from workbell.app import Workbell
from workbell.cli.bell import AnyClient, AnyRun, of_tenant
from workbell.errors import EventNotFound, InvalidOption, RunNotFound, WorkbellError, WorkerNotFound
from workbell.model.access import EVERY_TENANT, Token
from workbell.model.endpoint import Endpoint
from workbell.model.event import Event
from workbell.model.ids import is_id
from workbell.runs.filters import PAGE
from workbell.wire.webhooks import EndpointShown

SHORTEST = 6  # letters of a part
SHORT = 8  # letters of an id that are shown in lists, from its end: its beginning is the time, and the same for many

Thing = TypeVar("Thing")


def short(thing_id: str) -> str:
    return thing_id[-SHORT:]


def _by_part(
    text: str, known: Callable[[], Iterable[Thing]], ids_of: Callable[[Thing], Sequence[str]], better: str = ""
) -> Thing | None:
    """The one thing with an id that begins or ends with a part of enough letters. Of several, the only one whose
    attribute `better` is true."""
    part = text.strip().lower()
    if len(part) < SHORTEST:
        return None
    found = [one for one in known() if any(_is_part(part, each.lower()) for each in ids_of(one))]
    if len(found) > 1 and better:
        found = [one for one in found if getattr(one, better)] or found
    if len(found) > 1:
        listed = ", ".join(ids_of(one)[-1] for one in found[:3])
        raise InvalidOption(f"{text!r} is a part of {len(found)} ids, such as {listed}; give more of it.")
    return found[0] if found else None


def _is_part(part: str, whole: str) -> bool:
    return whole.startswith(part) or whole.endswith(part)


def _own_id(thing: Event | Token | Endpoint | EndpointShown) -> Sequence[str]:
    return (thing.id,)


def _none(bell: AnyClient, kind: str, text: str, error: type[WorkbellError]) -> WorkbellError:
    """The error where a part, searched among the last things of a kind, finds none: no store has an index for it."""
    if len(text.strip()) < SHORTEST:
        return error(f"There is no {kind} {text!r}; give its id, or at least {SHORTEST} letters of it.")
    among = f"the last {PAGE:,} {of_tenant(bell)}"
    return error(f"There is no {kind} {text!r} among {among}; an older one needs its whole id.")


# Runs and events: a part is searched among the last ones only


def find_run(bell: AnyClient, text: str) -> AnyRun:
    """A run by its id, or by the one that it was imported with, or a part of either."""
    whole = text.strip()
    part = whole.lower()
    if is_id(part):
        return bell.get(part)
    if whole.isprintable() and whole.strip(".") and "/" not in whole:  # it may become part of an address
        with suppress(RunNotFound):
            return bell.get(whole)
    found = _by_part(text, lambda: _last_runs(bell), _run_ids)
    if found is None:
        raise _none(bell, "run", text, RunNotFound)
    return found


def _last_runs(bell: AnyClient) -> Sequence[AnyRun]:
    return bell.runs(limit=PAGE)


def _run_ids(run: AnyRun) -> Sequence[str]:
    return (run.id,) if run.imported_id is None else (run.id, run.imported_id)


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


def find_event(bell: AnyClient, text: str) -> Event:
    part = text.strip().lower()
    if is_id(part):
        return bell.events.get(part)
    found = _by_part(text, lambda: bell.events.list(limit=PAGE), _own_id)
    if found is None:
        raise _none(bell, "event", text, EventNotFound)
    return found


def event_cursor(bell: AnyClient, text: str) -> str:
    """The id that a page of events goes on from. A whole one is a place in the list, also of an event that was
    removed."""
    part = text.strip().lower()
    return part if is_id(part) else find_event(bell, part).id


# Tokens, endpoints and workers: a part is searched among all of them


def usable_here(bell: AnyClient, after: str | None = None) -> Iterator[Token]:
    """The tokens that are or were good for this tenant, by age: its own, and those of every tenant."""
    return merge(*(tokens_of(bell, tenant, after) for tenant in (None, EVERY_TENANT)), key=attrgetter("id"))


def tokens_of(bell: AnyClient, tenant: str | None, after: str | None = None) -> Iterator[Token]:
    while page := bell.tokens.list(tenant=tenant, after=after, limit=MOST):
        yield from page
        if len(page) < MOST:
            return
        after = page[-1].id


def find_token(bell: AnyClient, text: str) -> Token:
    return _by_part(text, lambda: usable_here(bell), _own_id) or bell.tokens.get(text)


def find_endpoint(bell: AnyClient, text: str) -> Endpoint | EndpointShown:
    return _by_part(text, lambda: _endpoints(bell), _own_id) or bell.webhooks.get(text)


def _endpoints(bell: AnyClient) -> Sequence[Endpoint | EndpointShown]:
    return bell.webhooks.list()


def find_worker(bell: AnyClient, text: str) -> str:
    """The id of the worker that is meant. Of several the living one, if only one of them lives."""
    part, known = text.strip(), bell.workers()
    if any(one.worker.id == part for one in known):
        return part
    found = _by_part(text, lambda: known, lambda one: (one.worker.id,), better="alive")
    if found is None:
        raise WorkerNotFound(
            f"There is no worker {text!r}; give its id, or at least {SHORTEST} letters of it: `workbell workers list`."
        )
    return found.worker.id

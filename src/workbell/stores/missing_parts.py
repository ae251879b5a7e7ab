"""Placeholders for parts that a store lacks: a user's call raises what the feature needs, the engine's duties go on.

Reads of the engine, the command line and `doctor` are empty, and what they write is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn, cast

from workbell.errors import StoreError
from workbell.model.limit import UNUSED
from workbell.stores.port import CoreStore, Store

Answer = Callable[..., Any]

SQL = "sqlite:///workbell.db or postgresql://host/database"


def _nothing(*_: Any, **__: Any) -> None:
    """Nothing is known, or a note is dropped."""


def _no(*_: Any, **__: Any) -> bool:
    return False


def _nowhere(*_: Any) -> set[Any]:
    return set()


def _none(*_: Any, **__: Any) -> list[Any]:
    return []


FEATURES: Mapping[str, str] = {
    "agents": "agents",
    "answers": "requests with an Idempotency-Key",
    "audit": "the audit log",
    "definitions": "jobs as data",
    "events": "events",
    "export": "copying",
    "limits": "limits",
    "load": "copying",
    "logs": "log lines of runs",
    "notifications": "notifications",
    "pauses": "pauses",
    "reports": "reports of runs and schedules",
    "rewinds": "records of rewinds",
    "services": "the list of HTTP services",
    "subscribers": "triggers and webhooks",
    "tallies": "figures over time",
    "tenants": "settings of tenants",
    "tokens": "tokens of the HTTP API",
    "workers": "the list of workers",
}
ANSWERS: Mapping[str, Mapping[str, Answer]] = {
    "agents": {"list": _none},
    "definitions": {"list": _none, "version": int},
    "events": {"waiting": _none},
    "limits": {"uses": lambda limits: {limit.id: UNUSED for limit in limits}},
    "logs": {"add": len},
    "notifications": {"new": _none},
    "pauses": {"list": _none},
    "reports": {"broken": _none, "unreadable_runs": _none, "counts": _none, "waiting_targets": _nowhere},
    "rewinds": {"list": _none, "of_run": _none},
    "services": {"list": dict, "put": _nothing, "remove": _nothing},
    "subscribers": {
        "declare_triggers": _nothing,
        "failing_endpoints": _none,
        "list_endpoints": _none,
        "list_triggers": _none,
        "version": int,
    },
    "tallies": {"add": _nothing},
    "tenants": {"known": _none, "list": _none},
    "tokens": {"see": _nothing},
    "workers": {
        "find": _nothing,
        "held": dict,
        "list": _none,
        "note_drained": _no,
        "put": _nothing,
        "remove": _nothing,
        "see": _nothing,
        "try_store": _nothing,
        "try_write": _nothing,
    },
}


class Refusal:
    """A verb that is not there."""

    def __init__(self, part: str, url: str) -> None:
        feature = FEATURES[part]
        needs = "needs" if feature.startswith(("the ", "copying")) else "need"
        self._why = f"{url} keeps runs, schedules and jobs only; {feature} {needs} an SQL store: {SQL}."

    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        raise StoreError(self._why)


class Lacking:
    """A part that is not there."""

    def __init__(self, part: str, url: str) -> None:
        self._refuse = Refusal(part, url)
        self._answers = ANSWERS.get(part, {})

    def __getattr__(self, verb: str) -> Answer:
        if verb.startswith("_"):  # of a copy or a pickle: not a verb
            raise AttributeError(verb)
        return self._answers.get(verb, self._refuse)


def complete(store: CoreStore, url: str) -> Store:
    """A store that has all parts: its own, and for each that it lacks one that says so. `url` is how users name it."""
    if not hasattr(store, "position"):
        setattr(store, "position", _nothing)  # noqa: B010
    for part in FEATURES:
        if not hasattr(store, part):
            kind = Refusal if callable(getattr(Store, part)) else Lacking
            setattr(store, part, kind(part, url))
    return cast(Store, store)


def lacks(store: Store, part: str) -> bool:
    return isinstance(getattr(store, part), Lacking | Refusal)

"""Filters of runs: the words of `bell.runs(…)`, checked, for the store."""

from __future__ import annotations

from workbell.errors import InvalidOption
from workbell.model.clock import aware
from workbell.model.filter_options import FilterOptions, check_names
from workbell.model.ids import is_id
from workbell.model.job import name
from workbell.model.payload_fields import read_fields
from workbell.model.run import Status
from workbell.model.run_settings import read_user
from workbell.runs.runtime import Runtime
from workbell.scheduling.find import find_schedule
from workbell.stores.port import Filter

PAGE = 1000


def read_filter(runtime: Runtime, given: FilterOptions, before: str | None = None, limit: int = 100) -> Filter:
    """The filter for the store. A schedule may be given by its name."""
    check_names(given)
    if not 1 <= limit <= PAGE:
        raise InvalidOption(f"limit: {limit} is not from 1 to {PAGE}.")
    for word, kind, value in (
        ("before", "a run", before),
        ("event", "an event", given.get("event")),
        ("retry_of", "a run", given.get("retry_of")),
    ):
        if value is not None and not is_id(value):
            raise InvalidOption(f"{word}: {value!r:.60} is no id of {kind}.")
    since, until = given.get("since"), given.get("until")
    user_id = given.get("user_id")
    retried = given.get("retried")
    if not isinstance(retried, bool | None):
        raise InvalidOption(f"retried: expected True or False, got {type(retried).__name__}.")
    fields = given.get("input")
    checked = Filter(
        runtime.tenant,
        _statuses(given),
        job=_name(given, "job"),
        queue=_name(given, "queue"),
        tag=_name(given, "tag"),
        user_id=None if user_id is None else read_user(user_id),
        before=before,
        limit=limit,
        since=None if since is None else aware("since", since),
        until=None if until is None else aware("until", until),
        target=_name(given, "target"),
        event=given.get("event"),
        retry_of=given.get("retry_of"),
        retried=retried,
        fields=() if fields is None else read_fields(fields),
    )
    schedule = given.get("schedule")
    if schedule is not None and not is_id(schedule):
        schedule = find_schedule(runtime.store, runtime.tenant, schedule).id
    return checked._replace(schedule=schedule)


def _name(given: FilterOptions, kind: str) -> str | None:
    value = given.get(kind)
    return None if value is None else name(kind, value, InvalidOption)


def _statuses(given: FilterOptions) -> list[Status]:
    status = given.get("status") or ()
    try:
        return [Status(word) for word in ([status] if isinstance(status, str) else status)]
    except ValueError as error:
        raise InvalidOption(f"status: {error}; the statuses are {', '.join(Status)}.") from None

"""The verbs for finding runs among many: runs, a page of them, and how many there are. Sync, and async with an `a`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from typing import ParamSpec, TypeVar, Unpack

from workbell.errors import InvalidOption
from workbell.model.clock import aware
from workbell.model.filter_options import FilterOptions, check_names
from workbell.model.ids import is_id
from workbell.model.job import name
from workbell.model.payload_fields import read_fields
from workbell.model.run import Run, Status
from workbell.model.run_page import Counted, RunPage
from workbell.model.run_settings import read_user
from workbell.scheduling.schedules import Schedules
from workbell.stores.port import Filter, Store

T = TypeVar("T")
P = ParamSpec("P")

PAGE = 1000
PAGE_TEXT = 4 * 1024 * 1024  # letters of payloads, results and errors: whoever sends a page is busy with nothing else


class Finding(ABC):
    """The part of a client that finds runs."""

    store: Store
    tenant: str
    schedules: Schedules

    @abstractmethod
    def hop(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Awaitable[T]: ...

    def runs(self, *, before: str | None = None, limit: int = 100, **wanted: Unpack[FilterOptions]) -> list[Run]:
        """Runs by filter, newest first; `before` is the id of the last run of the page before.

        `bell.runs(status="failed", since=yesterday, input={"customer.id": 42})`. By an event, a field of the payload or
        `retried` all runs are looked through that the other words leave; `page_of_runs` stops after a while.
        """
        asked = self.filter_of(wanted, before, limit)
        if not asked.fields and asked.event is None and asked.retried is None:
            return self.store.runs.list(asked)
        found: list[Run] = []
        while True:
            runs, looked_to = self.store.reports.search(asked._replace(limit=limit - len(found)))
            found += runs
            if looked_to is None or len(found) >= limit:
                return found
            asked = asked._replace(before=looked_to)

    async def aruns(self, *, before: str | None = None, limit: int = 100, **wanted: Unpack[FilterOptions]) -> list[Run]:
        return await self.hop(lambda: self.runs(before=before, limit=limit, **wanted))

    def page_of_runs(self, *, before: str | None = None, limit: int = 100, **wanted: Unpack[FilterOptions]) -> RunPage:
        """The same in bounded time and size: a page may have fewer, or none; go on `before` its `next`."""
        runs, looked_to = self.store.reports.search(self.filter_of(wanted, before, limit))
        most = _fitting(runs)
        return RunPage(runs, looked_to) if most == len(runs) else RunPage(runs[:most], runs[most - 1].id)

    async def apage_of_runs(
        self, *, before: str | None = None, limit: int = 100, **wanted: Unpack[FilterOptions]
    ) -> RunPage:
        return await self.hop(lambda: self.page_of_runs(before=before, limit=limit, **wanted))

    def count_runs(self, **wanted: Unpack[FilterOptions]) -> Counted:
        """How many runs there are by a filter: counted up to 10,000, and among no more than the last 20,000 where only
        looking at each can tell."""
        return self.store.reports.count(self.filter_of(wanted))

    async def acount_runs(self, **wanted: Unpack[FilterOptions]) -> Counted:
        return await self.hop(lambda: self.count_runs(**wanted))

    def filter_of(self, given: FilterOptions, before: str | None = None, limit: int = 100) -> Filter:
        """The words of a filter, checked, for the store."""
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
            self.tenant,
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
            schedule = self.schedules.get(schedule).id
        return checked._replace(schedule=schedule)


def _fitting(runs: Sequence[Run]) -> int:
    """How many of these make a page that is not too large; one at least."""
    size = 0
    for place, run in enumerate(runs):
        size += sum(len(text) for text in (run.input_text, run.result_text, run.error) if text is not None)
        if size > PAGE_TEXT and place:
            return place
    return len(runs)


def _name(given: FilterOptions, kind: str) -> str | None:
    value = given.get(kind)
    return None if value is None else name(kind, value, InvalidOption)


def _statuses(given: FilterOptions) -> list[Status]:
    status = given.get("status") or ()
    try:
        return [Status(word) for word in ([status] if isinstance(status, str) else status)]
    except ValueError as error:
        raise InvalidOption(f"status: {error}; the statuses are {', '.join(Status)}.") from None

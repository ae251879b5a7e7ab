"""Methods that list, page and count runs, and bulk actions, over HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

import msgspec

from workbell.errors import InvalidOption
from workbell.model.clock import aware
from workbell.model.filter_options import FilterOptions, check_names
from workbell.model.payload_fields import read_fields
from workbell.model.run import Run
from workbell.model.run_page import Counted, RunPage
from workbell.remote import readers, words
from workbell.remote.call import Plan, RemoteCall, path, post
from workbell.remote.transport import ServiceTransport

PAGE = 1000

_read_count = readers.plain(Counted)


class RemoteFinding:
    """The part of a client that finds runs."""

    transport: ServiceTransport

    def runs(self, *, before: str | None = None, limit: int = 100, **wanted: Unpack[FilterOptions]) -> list[Run]:
        """Runs by filter, newest first; `before` is the id of the last run of the page before.

        `client.runs(status="failed", since=yesterday, input={"customer.id": 42})`. A filter by event or by
        a field of the input reads all runs that the other options leave; `page_of_runs` stops after a while.
        """
        return self.transport.follow(_runs(before, limit, wanted))

    async def aruns(self, *, before: str | None = None, limit: int = 100, **wanted: Unpack[FilterOptions]) -> list[Run]:
        return await self.transport.afollow(_runs(before, limit, wanted))

    def page_of_runs(self, *, before: str | None = None, limit: int = 100, **wanted: Unpack[FilterOptions]) -> RunPage:
        """The same in bounded time and size: a page may have fewer, or none; go on `before` its `next`."""
        return self.transport.send(_page(before, limit, wanted))

    async def apage_of_runs(
        self, *, before: str | None = None, limit: int = 100, **wanted: Unpack[FilterOptions]
    ) -> RunPage:
        return await self.transport.asend(_page(before, limit, wanted))

    def count_runs(self, **wanted: Unpack[FilterOptions]) -> Counted:
        """Number of runs by filter, up to 10,000; a filter without an index reads no more than the last 20,000."""
        return self.transport.send(_count(wanted))

    async def acount_runs(self, **wanted: Unpack[FilterOptions]) -> Counted:
        return await self.transport.asend(_count(wanted))

    def bulk(self, action: str, *, dry_run: bool = False, **wanted: Unpack[FilterOptions]) -> Run:
        """Cancel or retry all runs of a filter that were made before now: a run of its own does it, with progress.

        `client.bulk("retry", job="send", status="failed", since=yesterday)`. Without a status, `cancel` means all runs
        that have not ended, and `retry` those that failed. `retry` leaves out what was retried before, however often it
        is asked for. The result has `matched`, `done`, `skipped` and the first `errors`; with `dry_run` it is only
        counted what matches. It can be waited for, watched and canceled as any run.
        Runs of Workbell's own jobs, such as webhooks and alerts, are meant only if their job is named.
        """
        return self.transport.send(_bulk(action, dry_run, wanted))

    async def abulk(self, action: str, *, dry_run: bool = False, **wanted: Unpack[FilterOptions]) -> Run:
        return await self.transport.asend(_bulk(action, dry_run, wanted))


def _as_json(wanted: FilterOptions) -> dict[str, Any]:
    """The words of a filter that were said, as JSON has them."""
    check_names(wanted)
    fields: dict[str, Any] = {}
    for word, value in wanted.items():
        if value is None:
            continue
        if word in ("since", "until"):
            value = aware(word, value)  # type: ignore[arg-type]
        elif word == "status":
            value = [value] if isinstance(value, str) else [*value]  # type: ignore[misc]
        elif word == "input":
            value = {field.path: field.value for field in read_fields(value)}  # type: ignore[arg-type]
        fields[word] = value
    return fields


def _query(wanted: FilterOptions) -> dict[str, Any]:
    """The same for a URL: each field of the payload by itself, as JSON, so that `"7"` and `7` stay two things."""
    query = _as_json(wanted)
    fields: Mapping[str, Any] = query.pop("input", {})
    return query | {f"input.{name}": msgspec.json.encode(value).decode() for name, value in fields.items()}


def _runs(before: str | None, limit: int, wanted: FilterOptions) -> Plan[list[Run]]:
    _check_limit(limit)
    found: list[Run] = []
    while True:
        page: RunPage = yield _page(before, limit - len(found), wanted)
        found += page.runs
        if page.next is None or len(found) >= limit:
            return found
        before = page.next


def _page(before: str | None, limit: int, wanted: FilterOptions) -> RemoteCall[RunPage]:
    _check_limit(limit)
    query = _query(wanted) | {"before": before, "limit": limit}
    return RemoteCall(method="GET", path=path("runs"), read=_read_page, query=query)


def _read_page(content: bytes) -> RunPage:
    page = words.read_page_of_runs(content)
    return RunPage(page.items, page.next)


def _count(wanted: FilterOptions) -> RemoteCall[Counted]:
    return RemoteCall(method="GET", path=path("runs", "count"), read=_read_count, query=_query(wanted))


def _bulk(action: str, dry_run: bool, wanted: FilterOptions) -> RemoteCall[Run]:
    fields = {"action": action, "dry_run": dry_run, "filter": _as_json(wanted)}
    return post(path("bulk"), words.read_run, fields)


def _check_limit(limit: int) -> None:
    if not 1 <= limit <= PAGE:
        raise InvalidOption(f"limit: {limit} is not from 1 to {PAGE}.")

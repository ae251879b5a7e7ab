"""Plans of verbs about runs: enqueue, find, wait."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Any, TypeVar, Unpack

import msgspec

from workbell.errors import ClockSkew, InvalidOption, RunNotFound, ServiceUnavailable, StoreUnavailable, WaitTimeout
from workbell.model.clock import aware, seconds
from workbell.model.input_fields import read_fields
from workbell.model.log_line import LogLine
from workbell.model.request import EnqueueOptions
from workbell.model.run_filter import WORDS, FilterOptions, WordKind, check_names
from workbell.model.run_page import Counted
from workbell.remote.asking import ask, call_of
from workbell.remote.call import Plan, RemoteCall
from workbell.remote.options import RemoteRequest, pages, request, with_id
from workbell.remote.values import FoundRunPage
from workbell.wire import bulk, runs
from workbell.wire.operation import Operation
from workbell.wire.run_filter import FIELD
from workbell.wire.runs import FoundRun, MadeRun, RunShown

T = TypeVar("T")

PAGE = 1000
LONG_POLL = 25.0  # seconds that the service waits with its answer: less than what stands in between puts up with
PACE = 0.25
REST = 2.0  # seconds after the service could not be reached


# Enqueue


def enqueue(job: object, input: dict[str, Any] | None, **options: Unpack[EnqueueOptions]) -> Plan[MadeRun]:
    asked = request(job, input, options)
    making = partial(_making, runs.enqueue, _made, tenant=asked.tenant)
    made: MadeRun = yield from _make(making, asked.body, with_id(asked.body))
    return made


def enqueue_many(asked: Sequence[RemoteRequest]) -> Plan[list[MadeRun]]:
    found: list[MadeRun] = []
    for page in pages(asked):
        making = partial(_making, runs.enqueue_batch, _all_made, tenant=page[0].tenant)
        plain = {"runs": [one.body for one in page]}
        chosen = {"runs": [with_id(one.body) for one in page]}
        found += yield from _make(making, plain, chosen)
    return found


def _make(making: Callable[..., RemoteCall[T]], plain: Any, chosen: Any) -> Plan[T]:
    """Make runs under ids that are chosen here, the same at every try: the store needs no key to know them again.

    If the clock of this machine is wrong, such ids are refused, and an idempotency key stands for the request.
    """
    made: T
    try:
        made = yield making(chosen, keyed=False)
    except ClockSkew:
        made = yield making(plain)
    return made


def _making(
    operation: Operation[Any], read: Any, body: Any, *, tenant: str | None, keyed: bool = True
) -> RemoteCall[Any]:
    query = {"full": True} if tenant is None else {"full": True, "tenant": tenant}
    return msgspec.structs.replace(call_of(operation, query=query, body=body), read=read, keyed=keyed)


class _Made(MadeRun, frozen=True, kw_only=True):
    """Answer to an enqueue: the whole run has its job, and for a token without the scope `read` there is none."""

    job: str | None = None


class _AllMade(msgspec.Struct, frozen=True):
    items: list[msgspec.Raw]


def _made(content: bytes | msgspec.Raw) -> MadeRun:
    made = msgspec.json.decode(content, type=_Made)
    if made.job is None:
        return MadeRun(id=made.id, status=made.status)
    return msgspec.json.decode(content, type=RunShown)


def _all_made(content: bytes) -> list[MadeRun]:
    return [_made(one) for one in msgspec.json.decode(content, type=_AllMade).items]


# Find


def runs_call(before: str | None, limit: int, **wanted: Unpack[FilterOptions]) -> Plan[list[FoundRun]]:
    _check_limit(limit)
    found: list[FoundRun] = []
    while True:
        page = yield from runs_page(before, limit - len(found), **wanted)
        found += page.runs
        if page.next is None or len(found) >= limit:
            return found
        before = page.next


def runs_page(before: str | None, limit: int, **wanted: Unpack[FilterOptions]) -> Plan[FoundRunPage]:
    _check_limit(limit)
    page = yield call_of(runs.list_, query=_query(wanted) | {"before": before, "limit": limit})
    return FoundRunPage(page.items, page.next)


def runs_count(**wanted: Unpack[FilterOptions]) -> Plan[Counted]:
    return (yield call_of(bulk.count, query=_query(wanted)))


def runs_bulk(action: str, dry_run: bool, **wanted: Unpack[FilterOptions]) -> Plan[RunShown]:
    return (yield call_of(bulk.act, body={"action": action, "dry_run": dry_run, "filter": _as_json(wanted)}))


def runs_logs(run_id: str, after: LogLine | None, limit: int) -> Plan[list[LogLine]]:
    cursor = None if after is None else f"{after.attempt}:{after.line}"
    return ask(runs.logs, {"run_id": run_id, "after": cursor, "limit": limit})


def runs_why(run_id: str) -> Plan[str]:
    return (yield call_of(runs.why, run_id)).why


def _as_json(wanted: FilterOptions) -> dict[str, Any]:
    """A filter as the service takes it."""
    check_names(wanted)
    return {word: _value(word, value) for word, value in wanted.items() if value is not None}


def _value(word: str, value: Any) -> Any:
    match WORDS[word].kind:
        case WordKind.TIME:
            return aware(word, value)
        case WordKind.STATUSES:
            return [value] if isinstance(value, str) else [*value]
        case WordKind.INPUT:
            return dict(read_fields(value))
        case _:
            return value


def _query(wanted: FilterOptions) -> dict[str, Any]:
    """The same for a URL: each field of the input by itself, as JSON, so that `"7"` and `7` stay two things."""
    query = _as_json(wanted)
    fields: Mapping[str, Any] = query.pop("input", {})
    return query | {f"{FIELD}{name}": msgspec.json.encode(value).decode() for name, value in fields.items()}


def _check_limit(limit: int) -> None:
    if not 1 <= limit <= PAGE:
        raise InvalidOption(f"limit: {limit} is not from 1 to {PAGE}.")


# Wait


def runs_wait(run_id: str, timeout: float | timedelta | None) -> Plan[FoundRun]:
    """Wait until a run has ended. Once it has begun, it goes on while the service cannot be reached."""
    limit = None if timeout is None else seconds("timeout", timeout)
    end = None if limit is None else time.monotonic() + limit
    begun = False
    while True:
        left = LONG_POLL if end is None else min(LONG_POLL, max(end - time.monotonic(), 0.0))
        asked_at = time.monotonic()
        try:
            # Rounded up: an answer that comes a moment too early would cost another request.
            run: FoundRun = yield call_of(runs.get, run_id, query={"wait": round(left + 0.0005, 3)}, patience=left)
        except (ServiceUnavailable, StoreUnavailable):
            if not begun:
                raise
            if end is not None and time.monotonic() >= end:
                raise _too_late(run_id, limit) from None
            yield REST if end is None else min(REST, max(end - time.monotonic(), 0.0))
            continue
        except RunNotFound:
            if not begun:
                raise
            raise RunNotFound(f"run {run_id} ended and was removed while it was waited for.") from None
        begun = True
        if run.status.final:
            return run
        if end is not None and time.monotonic() >= end:
            raise _too_late(run_id, limit)
        if time.monotonic() - asked_at < left / 2:
            yield PACE  # it did not wait, being about to stop perhaps: do not ask without end


def _too_late(run_id: str, limit: float | None) -> WaitTimeout:
    return WaitTimeout(f"run {run_id} did not end within {limit:g} s; ask client.why(id) what holds it up.")

"""Handlers of runs: enqueue, list, show, watch, cancel and retry one, and act on all of a filter."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Any

import msgspec
from starlette import types
from starlette.responses import Response, StreamingResponse

from workbell.errors import InvalidOption, RunNotFound, WaitTimeout, WorkbellError
from workbell.http.features.enqueue_groups import ChosenId, Order
from workbell.http.features.worker_facts import without_ids
from workbell.http.framework.answers import JsonResponse, encode
from workbell.http.framework.bounded_pages import WITH_TEXT, PageSource, by_number, read_page
from workbell.http.framework.call import ApiCall, departure
from workbell.http.framework.operations import Served
from workbell.http.framework.problems import log_failure, public_words
from workbell.http.policies.access_watch import OpenAccess
from workbell.http.policies.idempotency import answer_once, fingerprint_of, idempotency_key, key_at
from workbell.http.policies.open_limits import STREAMS, WAITS
from workbell.model.access import Scope
from workbell.model.clock import EPOCH
from workbell.model.input_fields import value_from
from workbell.model.log_line import LogLine
from workbell.model.request import ABOUT_KEYS
from workbell.model.run import Attempt, IdempotencyKey, Run
from workbell.model.run_page import Counted
from workbell.model.worker import alias_of
from workbell.runs.lookup import found_runs, why_waiting
from workbell.wire import bulk, runs
from workbell.wire.bulk import BulkBody
from workbell.wire.operation import Items, ListPage
from workbell.wire.run_filter import FIELD, RunFilter, filter_words
from workbell.wire.runs import (
    AttemptShown,
    AttemptsQuery,
    CancelBody,
    EnqueueQuery,
    FoundRun,
    LogsQuery,
    MadeRun,
    NewRuns,
    RunBody,
    RunQuery,
    RunShown,
    RunsQuery,
    WhyShown,
)

served = Served()

Answer = Callable[[Sequence[Run]], MadeRun | Items[MadeRun]]


@served(runs.enqueue)
async def enqueue(call: ApiCall, query: EnqueueQuery, body: RunBody) -> Response:
    show = _whole if query.full and call.access.may(Scope.READ) else _made
    return await _make(call, [body], lambda made: show(made[0]))


@served(runs.enqueue_batch)
async def enqueue_batch(call: ApiCall, query: EnqueueQuery, body: NewRuns) -> Response:
    show = _whole if query.full and call.access.may(Scope.READ) else _made
    return await _make(call, body.runs, lambda made: Items(items=[show(run) for run in made]))


async def _make(call: ApiCall, asked: Sequence[RunBody], answer: Answer) -> Response:
    """Make runs. The idempotency key is written with them; if they have keys of their own, the answer is stored."""
    asked = [call.owned(one) for one in asked]
    key, chosen = idempotency_key(call.request), _chosen_ids(asked)
    name = key or next(iter(chosen), None)
    if name is None:
        return await _write(call, [Order(one.job, one.input, one.options()) for one in asked], answer)
    fingerprint = fingerprint_of(await call.content(), call.access.user_id)
    once = None if key is None else IdempotencyKey(key, fingerprint)
    orders = [_order(one, fingerprint, once, index) for index, one in enumerate(asked)]
    if any(one.key is not None for one in asked):
        return await answer_once(call, lambda _request: _write(call, orders, answer), name)
    return await _write(call, orders, answer)


async def _write(call: ApiCall, orders: Sequence[Order], answer: Answer) -> Response:
    made = await call.service.enqueue_groups.put(call.client, orders)
    return JsonResponse(answer(made), 201)


def _chosen_ids(asked: Sequence[RunBody]) -> list[str]:
    """The ids that a request chooses for its runs; raises InvalidOption if it gives one of them twice."""
    chosen = [one.id for one in asked if one.id is not None]
    if len(set(chosen)) < len(chosen):
        twice = next(run_id for run_id in chosen if chosen.count(run_id) > 1)
        raise InvalidOption(f"id: {twice} is given to two runs of this request; make an id for each.")
    return chosen


def _made(run: Run) -> MadeRun:
    return MadeRun(id=run.id, status=run.status)


def _whole(run: Run) -> MadeRun:
    return RunShown.of(run)


def _order(asked: RunBody, fingerprint: str, once: IdempotencyKey | None, index: int) -> Order:
    options = asked.options()
    chosen = None if asked.id is None else ChosenId(asked.id, fingerprint)
    order = Order(asked.job, asked.input, options, chosen=chosen)
    if once is None or not options.keys().isdisjoint(("key", *ABOUT_KEYS)):
        return order
    return order.under(key_at(once.key, index), once)


@served(runs.list_)
async def list_(call: ApiCall, query: RunsQuery) -> ListPage[FoundRun]:
    return await call.client.runtime.hop(_page, call, query)


def _page(call: ApiCall, query: RunsQuery) -> ListPage[FoundRun]:
    found = call.client.page_of_runs(**asked_filter(call, query), before=query.before, limit=query.limit)
    return ListPage(items=found_runs(call.client.runtime, found.runs), next=found.next)


@served(runs.get)
async def get(call: ApiCall, run_id: str, query: RunQuery) -> FoundRun:
    run = await call.client.aget(run_id)
    if query.wait and not run.status.final:
        run = await _wait(call, run, query.wait)
    return (await call.client.runtime.hop(found_runs, call.client.runtime, [run]))[0]


async def _wait(call: ApiCall, run: Run, wait: float) -> Run:
    service = call.service
    with (
        service.opened.waits.one_more(WAITS, call.who),
        service.access_watch.watch(call.access, call.request) as watched,
        departure(call.request) as left,
    ):
        waiting = call.client.await_(run.id, timedelta(seconds=wait))
        try:
            run = await service.unless_stopped(waiting, run, watched.over, left)
        except WaitTimeout:
            run = await call.client.aget(run.id)
        watched.check()
    return run


@served(runs.attempts)
async def attempts(call: ApiCall, run_id: str, query: AttemptsQuery) -> ListPage[AttemptShown]:
    client = call.client
    return await attempts_page(
        call, query, lambda after, number: client.attempts(run_id, after=after or 0, limit=number)
    )


async def attempts_page(
    call: ApiCall, query: AttemptsQuery, read: Callable[[int | None, int], Sequence[Attempt]]
) -> ListPage[AttemptShown]:
    source = PageSource(read, by_number, lambda one: attempt_shown(call, one), WITH_TEXT)
    page = await call.client.runtime.hop(read_page, source, query.after, query.limit)
    return page.answer(lambda one: str(one.number))


def attempt_shown(call: ApiCall, one: Attempt) -> AttemptShown:
    return AttemptShown.of(one, one.worker if one.worker is None or call.is_operator else alias_of(one.worker))


@served(runs.logs)
async def logs(call: ApiCall, run_id: str, query: LogsQuery) -> ListPage[LogLine]:
    source = PageSource(
        lambda line, number: call.client.logs(run_id, after=line, limit=number), lambda line: line, largest=WITH_TEXT
    )
    page = await call.client.runtime.hop(read_page, source, _cursor(run_id, query.after), query.limit)
    return page.answer(lambda line: f"{line.attempt}:{line.line}")


def _cursor(run_id: str, cursor: str | None) -> LogLine | None:
    if cursor is None:
        return None
    attempt, line = cursor.split(":")
    return LogLine(run_id, int(attempt), int(line), EPOCH, "", "")


@served(runs.why)
async def why(call: ApiCall, run_id: str) -> WhyShown:
    run = await call.client.aget(run_id)
    reason = await call.client.runtime.hop(why_waiting, call.client.runtime, run)
    text = reason.text if call.is_operator else without_ids(reason.text, reason.workers)
    return WhyShown(run=run.id, status=run.status, why=text)


@served(runs.cancel)
async def cancel(call: ApiCall, run_id: str, body: CancelBody) -> RunShown:
    return RunShown.of(await call.client.acancel(run_id, body.reason))


@served(runs.retry)
async def retry(call: ApiCall, run_id: str) -> RunShown:
    return RunShown.of(await call.client.aretry(run_id))


@served(runs.stream)
async def stream(call: ApiCall, run_id: str) -> Response:
    run = await call.client.aget(run_id)
    return StreamOfRun(events_of(call, run), call.service.opened.streams.one_more(STREAMS, call.who))


def asked_filter(call: ApiCall, query: RunFilter) -> dict[str, Any]:
    """Options of `bell.runs`, with the fields of the input that the query names."""
    found = filter_words(query)
    if call.request.scope["query_string"]:
        fields = {
            name.removeprefix(FIELD): value_from(text)
            for name, text in call.request.query_params.multi_items()
            if name.startswith(FIELD) and len(name) > len(FIELD)
        }
        if fields:
            found["input"] = fields
    return found


@served(bulk.count)
async def count(call: ApiCall, query: RunFilter) -> Counted:
    return await call.client.acount_runs(**asked_filter(call, query))


@served(bulk.act)
async def act(call: ApiCall, body: BulkBody) -> RunShown:
    run = await call.client.abulk(body.action, dry_run=body.dry_run, **filter_words(body.filter))
    call.subject = run.id
    return RunShown.of(run)


# Streams: server-sent events of a run, its state, then changes and log lines until its end

STREAM_PACE = 1.0  # seconds between two polls, if no hint comes
STREAM_GAP = 0.1  # seconds that must pass between two
LOG_PAGE = 1000  # lines of a log, read at once
ALIVE = 15.0  # seconds after which a comment shows that the stream is alive


async def events_of(call: ApiCall, run: Run) -> AsyncIterator[bytes]:
    """Ends with the run, with the server, or with the access of the caller.

    The answer has begun, so an error cannot become a problem any more. A run that was removed ends the stream as one
    that ended; another error ends it with a comment, after which clients connect again.
    """
    with call.service.access_watch.watch(call.access, call.request) as opened:
        try:
            async for part in _parts(call, run, opened):
                yield part
        except RunNotFound:
            yield END
        except WorkbellError as error:
            log_failure(error)
            yield _comment(public_words(error))


async def _parts(call: ApiCall, run: Run, opened: OpenAccess) -> AsyncIterator[bytes]:
    service, client = call.service, call.client
    last: Run | None = None
    line: LogLine | None = None
    quiet = 0.0
    while True:
        while lines := await client.alogs(run.id, after=line, limit=LOG_PAGE):
            for line in lines:
                yield _event("log", encode(line))
            quiet = 0.0
            if len(lines) < LOG_PAGE or service.stopping.is_set() or opened.over.done():
                break
        now = msgspec.structs.replace(run, lease_until=None)  # renewed again and again, and no news
        if now != last:
            last = now
            yield _event("run", encode(run.as_dict()))
            quiet = 0.0
        if run.status.final:
            yield END
            return
        if await service.pause(STREAM_GAP) or await service.hint(STREAM_PACE - STREAM_GAP):
            return
        if opened.over.done():
            yield _comment(opened.over.result())
            return
        quiet += STREAM_PACE
        if quiet >= ALIVE:
            yield _comment("still here")
            quiet = 0.0
        run = await client.aget(run.id)


class StreamOfRun(StreamingResponse):
    """The response of a stream, counted (`held`) from the request until its last byte, or until the client leaves."""

    def __init__(self, lines: AsyncIterator[bytes], held: AbstractContextManager[None]) -> None:
        super().__init__(lines, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})
        held.__enter__()
        self._held = held

    async def __call__(self, scope: types.Scope, receive: types.Receive, send: types.Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._held.__exit__(None, None, None)


def _event(name: str, data: bytes) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + data + b"\n\n"


def _comment(text: str) -> bytes:
    return f": {' '.join(text.split())}\n\n".encode()


END = _event("end", b"{}")

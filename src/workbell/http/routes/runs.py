"""Routes of runs: enqueue, list, show, watch, cancel and retry."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import timedelta
from typing import Annotated, Any

from fastapi import Body, Query
from starlette.requests import Request
from starlette.responses import Response

from workbell.errors import InvalidOption, WaitTimeout
from workbell.http.answers import JsonResponse
from workbell.http.bounded_pages import WITH_TEXT, PageSource, read_page
from workbell.http.call import ApiCall, call_of, departure
from workbell.http.enqueueing import Order
from workbell.http.found_runs import found_runs
from workbell.http.idempotency import ANSWER_TTL, answer_once, fingerprint_of, key_at, key_of
from workbell.http.open_limits import STREAMS, WAITS
from workbell.http.routing import IDEMPOTENCY_KEY, Routes
from workbell.http.run_filter import RunFilter, run_filter
from workbell.http.run_stream import StreamOfRun, events_of
from workbell.http.schemas.base import Limit, ListPage
from workbell.http.schemas.runs import (
    Attempts,
    CancelBody,
    FoundRun,
    LogLineShown,
    MadeRun,
    MadeRuns,
    NewRuns,
    RetryBody,
    RunBody,
    RunShown,
    WhyShown,
)
from workbell.http.worker_facts import alias_of, without_ids
from workbell.model.access import Scope
from workbell.model.clock import EPOCH
from workbell.model.keys import KeyScope
from workbell.model.log_line import LogLine
from workbell.model.request import ABOUT_KEYS
from workbell.model.retry import Retry
from workbell.model.run import Attempt, IdempotencyKey, Run
from workbell.model.state import CANCELED

routes = Routes("runs")

LONGEST_WAIT = 60.0
OURS = "http:"  # prefix of run keys that come from an Idempotency-Key header
FULL = {
    "name": "full",
    "in": "query",
    "required": False,
    "description": "Answer with the whole run, as GET /runs/{run_id} does.",
    "schema": {"type": "boolean", "default": False},
}


@routes.add(
    "POST", "/runs", needs=Scope.ENQUEUE, answers=MadeRun, status=201, body=RunBody, parameters=[IDEMPOTENCY_KEY, FULL]
)
async def enqueue(request: Request) -> Response:
    """Enqueue a run: have a job run by a worker.

    The `Idempotency-Key` becomes the run's key for 24 hours, in the transaction that makes the run. If the run has
    a key of its own, the answer is remembered instead.
    """
    call = call_of(request)
    asked = RunBody.model_validate_json(await request.body())
    return await _make(call, [asked], lambda runs: _made(call, runs[0]))


@routes.add(
    "POST",
    "/runs/batch",
    needs=Scope.ENQUEUE,
    answers=MadeRuns,
    status=201,
    body=NewRuns,
    parameters=[IDEMPOTENCY_KEY, FULL],
)
async def enqueue_batch(request: Request) -> Response:
    """Enqueue up to 1,000 runs in one transaction: all of them or none."""
    call = call_of(request)
    asked = NewRuns.model_validate_json(await request.body())
    return await _make(call, asked.runs, lambda runs: {"items": [_made(call, run) for run in runs]})


async def _make(call: ApiCall, asked: Sequence[RunBody], answer: Callable[[Sequence[Run]], Any]) -> Response:
    """Make runs. The idempotency key is written with them; if they have keys of their own, the answer is stored."""
    key = key_of(call.request)

    async def make(_request: Request) -> Response:
        once = None if key is None else IdempotencyKey(key, fingerprint_of(await call.request.body()))
        orders = [_order(one, once, index) for index, one in enumerate(asked)]
        runs = await call.service.enqueueing.put(call.client, orders)
        return JsonResponse(answer(runs), 201)

    if key is not None and any(one.key is not None for one in asked):
        return await answer_once(call, make)
    return await make(call.request)


def _made(call: ApiCall, run: Run) -> Mapping[str, Any]:
    """A new run as it is answered: id and status; the whole run costs more, and needs the scope `read`."""
    request = call.request
    full = request.query_params.get("full", "false") if request.scope["query_string"] else "false"
    if full not in ("true", "false"):
        raise InvalidOption(f"full: {full[:40]!r} is neither true nor false.")
    return run.as_dict() if full == "true" and call.access.may(Scope.READ) else {"id": run.id, "status": run.status}


def _order(asked: RunBody, once: IdempotencyKey | None, index: int) -> Order:
    """Options of `bell.enqueue` from a request body; null counts as left out."""
    options: dict[str, Any] = {
        name: value
        for name in asked.model_fields_set
        if name not in ("job", "input") and (value := getattr(asked, name)) is not None
    }
    if "retry" in options:
        options["retry"] = _retry(options["retry"])
    if once is None or not options.keys().isdisjoint(("key", *ABOUT_KEYS)):
        return Order(asked.job, asked.input, options)
    key = f"{OURS}{key_at(once.key, index)}"
    options |= {"key": key, "key_for": ANSWER_TTL, "key_scope": KeyScope.TENANT}
    return Order(asked.job, asked.input, options, once)


def _retry(asked: RetryBody) -> Retry:
    return Retry(**asked.model_dump())


@routes.add("GET", "/runs", needs=Scope.READ, answers=ListPage[FoundRun])
async def list(  # noqa: A001
    request: Request,
    wanted: Annotated[RunFilter, Query()],
    before: Annotated[str | None, Query(description="The cursor: `next` of the page before.", max_length=100)] = None,
    limit: Limit = 100,
) -> Response:
    """List runs by filter, newest first."""
    call = call_of(request)
    page = await call.client.apage_of_runs(**run_filter(request, wanted), before=before, limit=limit)
    items = await call.client.runtime.hop(found_runs, call.client, page.runs)
    return JsonResponse({"items": items, "next": page.next})


@routes.add("GET", "/runs/{run_id}", needs=Scope.READ, answers=FoundRun)
async def get(
    request: Request,
    run_id: str,
    wait: Annotated[float, Query(ge=0, le=LONGEST_WAIT, description="Seconds to wait for the run to end.")] = 0,
) -> Response:
    """Show a run, or wait for up to a minute until it has ended."""
    call = call_of(request)
    run = await call.client.aget(run_id)
    if wait and not run.status.final:
        run = await _wait(call, run, wait)
    return JsonResponse((await call.client.runtime.hop(found_runs, call.client, [run]))[0])


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


@routes.add("GET", "/runs/{run_id}/attempts", needs=Scope.READ, answers=Attempts)
async def attempts(request: Request, run_id: str) -> Response:
    """List every attempt of a run, oldest first."""
    call = call_of(request)
    found = await call.client.aattempts(run_id)
    return JsonResponse({"items": [attempt_shown(call, one) for one in found]})


def attempt_shown(call: ApiCall, one: Attempt) -> Mapping[str, Any]:
    names = ("run", "number", "status", "started_at", "finished_at", "worker", "error", "error_type", "result")
    shown = {name: getattr(one, name) for name in names}
    return shown if one.worker is None or call.is_operator else shown | {"worker": alias_of(one.worker)}


@routes.add("GET", "/runs/{run_id}/logs", needs=Scope.READ, answers=ListPage[LogLineShown])
async def logs(
    request: Request,
    run_id: str,
    after: Annotated[str | None, Query(pattern=r"^\d{1,9}:\d{1,9}$", description="`attempt:line`, the cursor.")] = None,
    limit: Limit = 100,
) -> Response:
    """Read what a run's handler logged, oldest first."""
    call = call_of(request)
    source = PageSource(
        lambda line, number: call.client.logs(run_id, after=line, limit=number), lambda line: line, largest=WITH_TEXT
    )
    page = await call.client.runtime.hop(read_page, source, _cursor(run_id, after), limit)
    return JsonResponse(page.answer(lambda line: f"{line.attempt}:{line.line}"))


def _cursor(run_id: str, cursor: str | None) -> LogLine | None:
    if cursor is None:
        return None
    attempt, line = cursor.split(":")
    return LogLine(run_id, int(attempt), int(line), EPOCH, "", "")


@routes.add("GET", "/runs/{run_id}/why", needs=Scope.READ, answers=WhyShown)
async def why(request: Request, run_id: str) -> Response:
    """Say why a run is not running, or how it ended."""
    call = call_of(request)
    run = await call.client.aget(run_id)
    reason = await call.client.awhy(run_id)
    if not call.is_operator:
        workers = await call.client.runtime.hop(call.client.store.workers.list)
        reason = without_ids(reason, [*filter(None, [run.worker]), *(worker.id for worker in workers)])
    return JsonResponse({"run": run.id, "status": run.status, "why": reason})


@routes.add("POST", "/runs/{run_id}/cancel", needs=Scope.OPERATE, answers=RunShown)
async def cancel(request: Request, run_id: str, asked: Annotated[CancelBody | None, Body()] = None) -> Response:
    """End a run: at once if it has not started, else its handler is asked to stop."""
    reason = CANCELED if asked is None else asked.reason
    return JsonResponse((await call_of(request).client.acancel(run_id, reason)).as_dict())


@routes.add("POST", "/runs/{run_id}/retry", needs=Scope.OPERATE, answers=RunShown, status=201, creates=True)
async def retry(request: Request, run_id: str) -> Response:
    """Run a finished run's job again with the same input: a new run, linked by `retry_of`."""
    return JsonResponse((await call_of(request).client.aretry(run_id)).as_dict(), 201)


@routes.add(
    "GET",
    "/runs/{run_id}/stream",
    needs=Scope.READ,
    more={200: {"description": "Server-sent events.", "content": {"text/event-stream": {"schema": {}}}}},
)
async def stream(request: Request, run_id: str) -> Response:
    """Watch a run with curl: server-sent events `run` and `log`, until it has ended."""
    call = call_of(request)
    run = await call.client.aget(run_id)
    lines: AsyncIterator[bytes] = events_of(call, run)
    return StreamOfRun(lines, call.service.opened.streams.one_more(STREAMS, call.who))

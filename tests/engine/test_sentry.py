"""Failures as error trackers see them: a log record carries the exception, and Sentry groups by its type and frames."""

from __future__ import annotations

import importlib
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sentry_sdk
from sentry_sdk.envelope import Envelope
from sentry_sdk.integrations.dedupe import DedupeIntegration
from sentry_sdk.integrations.logging import LoggingIntegration
from sentry_sdk.transport import Transport

from tests.support.fresh_store import fresh_store
from workbell import Retry, Workbell
from workbell.logs.json_lines import JsonFormatter
from workbell.logs.text_lines import TextFormatter
from workbell.settings import Settings

CARD = "4111-1111-1111-1111"


class OrderError(Exception):
    """An error of the application's own."""


class Captured(Transport):
    """Keeps the events that would be sent."""

    def __init__(self) -> None:
        super().__init__()
        self.events: list[dict[str, Any]] = []

    def capture_envelope(self, envelope: Envelope) -> None:
        event = envelope.get_event()
        if event is not None:
            self.events.append(json.loads(json.dumps(event, default=str)))


@pytest.fixture
def sentry() -> Iterator[Captured]:
    transport = Captured()
    # Of those that are on by default, these two: others patch threads and event loops for good.
    parts = [LoggingIntegration(), DedupeIntegration()]
    sentry_sdk.init("https://key@sentry.invalid/1", transport=transport, default_integrations=False, integrations=parts)
    yield transport
    sentry_sdk.get_client().close()
    sentry_sdk.init()  # without an address: off


def fail(kind: int, card: str) -> None:
    if kind == 0:
        raise ValueError("no such order")
    if kind == 1:
        raise OrderError(f"order {kind} is closed")
    try:
        {}[kind]  # type: ignore[index]
    except KeyError as error:
        raise RuntimeError("no price") from error


def group_of(event: dict[str, Any]) -> tuple[Any, ...]:
    """What Sentry groups by, where an event has an exception with a stack: types, and functions of frames."""
    values = event["exception"]["values"]
    return tuple(
        (one["module"], one["type"], *((frame["abs_path"], frame["function"]) for frame in one["stacktrace"]["frames"]))
        for one in values
    )


@pytest.mark.anyio
@pytest.mark.parametrize("kind", ["plain", "async"])
async def test_three_errors_of_two_jobs_are_six_groups_and_no_input_leaves(kind: str, sentry: Captured) -> None:
    with Workbell(store=fresh_store(), settings=Settings(poll=0.02)) as bell:
        if kind == "plain":

            @bell.job(retry=Retry(attempts=1))
            def charge(kind: int, card: str) -> None:
                fail(kind, card)

            @bell.job(retry=Retry(attempts=1))
            def refund(kind: int, card: str) -> None:
                fail(kind, card)
        else:

            @bell.job(name="charge", retry=Retry(attempts=1))
            async def async_charge(kind: int, card: str) -> None:
                fail(kind, card)

            @bell.job(name="refund", retry=Retry(attempts=1))
            async def async_refund(kind: int, card: str) -> None:
                fail(kind, card)

        async with bell.running():
            for _ in range(2):
                for job in ("charge", "refund"):
                    for number in range(3):
                        run = await bell.aenqueue(job, {"kind": number, "card": CARD})
                        await bell.await_(run.id, timeout=30)
    assert len(sentry.events) == 12
    assert len({group_of(event) for event in sentry.events}) == 6
    first = sentry.events[0]["exception"]["values"][-1]
    assert (first["type"], first["value"]) == ("ValueError", "no such order")
    frames = first["stacktrace"]["frames"]
    assert [frame["function"] for frame in frames][-1] == "fail"
    assert frames[-1]["context_line"].strip() == 'raise ValueError("no such order")'
    assert all(frame["abs_path"] == __file__ for frame in frames), "Workbell's own frames are left out"
    assert sentry.events[0]["logentry"]["message"] == "run failed: charge (run %s, attempt %d)%s"
    assert CARD not in json.dumps(sentry.events)


@pytest.fixture
def records() -> Iterator[list[logging.LogRecord]]:
    found: list[logging.LogRecord] = []

    class Collect(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            found.append(record)

    handler = Collect(logging.WARNING)
    log = logging.getLogger("workbell.runs")
    log.addHandler(handler)
    yield found
    log.removeHandler(handler)


@pytest.mark.anyio
async def test_a_record_of_a_failed_attempt_has_the_exception_and_every_formatter_shows_it_once(
    records: list[logging.LogRecord],
) -> None:
    raised: list[BaseException] = []
    with Workbell(store=fresh_store(), settings=Settings(poll=0.02)) as bell:

        @bell.job(retry=Retry(attempts=2, delay=0))
        def charge(card: str) -> None:
            error = OrderError("closed")
            raised.append(error)
            raise error

        async with bell.running():
            run = await bell.await_((await charge.aenqueue(card=CARD)).id, timeout=30)
    retried, failed = records
    for record, error in zip((retried, failed), raised, strict=True):
        assert record.exc_info is not None
        assert record.exc_info[1] is error
        assert CARD not in str(_locals_of(error))
    whole = logging.Formatter().format(failed)
    assert whole.startswith(f"run failed: charge (run {run.id}, attempt 2): {__name__}.OrderError: closed\nTraceback")
    formatters: list[logging.Formatter] = [logging.Formatter(), JsonFormatter(), TextFormatter()]
    for formatter in formatters:
        text = formatter.format(failed)
        assert text.count("raise error") == 1, text
        assert text.count("in charge") == 1, text


def _locals_of(error: BaseException) -> list[dict[str, Any]]:
    found, trace = [], error.__traceback__
    assert trace is not None
    while trace is not None:
        found.append(dict(trace.tb_frame.f_locals))
        trace = trace.tb_next
    return found


ISOLATED = """
from workbell import Retry, Workbell

bell = Workbell("sqlite:///{file}")

class OrderError(Exception): ...

@bell.job(isolate="process", retry=Retry(attempts=1))
def charge(card):
    raise OrderError("closed")
"""


@pytest.mark.anyio
async def test_an_error_of_an_isolated_handler_comes_with_its_type_and_frames(
    tmp_path: Path,
    records: list[logging.LogRecord],
    sentry: Captured,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = tmp_path / "isolated_shop.py"
    path.write_text(ISOLATED.format(file=tmp_path / "shop.db"))
    monkeypatch.syspath_prepend(tmp_path)
    shop = importlib.import_module(path.stem)
    async with shop.bell.running():
        await shop.bell.await_((await shop.charge.aenqueue(card=CARD)).id, timeout=60)
    shop.bell.close()
    (record,) = records
    assert record.exc_info is not None
    kind, error, _ = record.exc_info
    assert kind is not None
    assert (kind.__module__, kind.__qualname__, str(error)) == ("isolated_shop", "OrderError", "closed")
    (event,) = sentry.events
    (one,) = event["exception"]["values"]
    (frame,) = one["stacktrace"]["frames"]
    assert (one["type"], frame["function"], frame["abs_path"]) == ("OrderError", "charge", str(path))
    assert frame["context_line"].strip() == 'raise OrderError("closed")'
    assert CARD not in json.dumps(event)

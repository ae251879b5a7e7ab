"""The pages about events (C2, A7, C8) say what the code does: patterns, lifecycle events, executions, deliveries."""

from __future__ import annotations

import re

import msgspec
import pytest

from tests.docs.pages import DOCS, table_rows, text_of
from workbell.errors import EndpointRefused
from workbell.model.endpoint import DELIVERY_RETRY as RETRY
from workbell.model.execution import Execution, ExecutionStatus, Invocation, InvocationStatus
from workbell.model.patterns import check_type, matches
from workbell.model.system_events import SYSTEM_TYPES, WEBHOOK_DISABLED, WEBHOOK_PING
from workbell.model.trigger import DEFAULT_RETRY, OPTION_FIELDS, Trigger, config_of
from workbell.notices.listeners import LifecycleEvent
from workbell.outgoing.permit import check_url
from workbell.webhooks.endpoints import EndpointSettings

EVENTS = text_of(DOCS / "how-to" / "events.md")
LIFECYCLE = text_of(DOCS / "how-to" / "lifecycle-events.md")
WEBHOOKS = text_of(DOCS / "how-to" / "webhooks.md")


def words(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def test_patterns_match_what_the_page_says() -> None:
    rows = table_rows(EVENTS, "Patterns")
    assert len(rows) >= 6
    for pattern, matching, others in rows:
        for kind in [*words(matching), *words(others)]:
            system = check_type(kind) in SYSTEM_TYPES
            assert matches(words(pattern)[0], kind, system=system) is (kind in words(matching)), (pattern, kind)


def test_a_trigger_and_its_retries_are_as_the_page_says() -> None:
    rows = table_rows(EVENTS, "Stored triggers")
    shown = {words(row[0])[0]: words(row[1])[0] for row in rows}
    assert set(shown) <= set(Trigger.__struct_fields__)
    trigger = msgspec.convert(
        dict.fromkeys(("id", "name", "pattern", "job"), "x")
        | dict.fromkeys(("created_at", "updated_at"), "2026-11-16T00:00:00Z"),
        Trigger,
    )
    options = next(words(row[1]) for row in rows if row[0] == "`options`")
    assert set(options) == set(OPTION_FIELDS)
    assert set(trigger.as_dict()) - {*shown.values(), *options} == {"source", "tenant", "unreadable"}
    retry = next(row[2] for row in rows if row[0] == "`retry`")
    found = {word: float(number.replace(",", "")) for word, number in re.findall(r"`(\w+)` \(([\d,]+)\)", retry)}
    assert found == config_of(DEFAULT_RETRY)


def test_executions_and_invocations_have_the_fields_of_the_page() -> None:
    rows = table_rows(EVENTS, "Executions")
    assert [word for row in rows for word in words(row[0])] == list(Execution.__struct_fields__)
    statuses = next(row[1] for row in rows if row[0] == "`status`")
    assert words(statuses) == list(ExecutionStatus)
    told = EVENTS.partition("An invocation has ")[2].partition("\n\n")[0].partition("`bell.executions")[0]
    assert [word for word in words(told) if word not in tuple(InvocationStatus)] == list(Invocation.__struct_fields__)
    assert [word for word in words(told) if word in tuple(InvocationStatus)] == list(InvocationStatus)


def test_every_lifecycle_event_is_listed_with_fields_that_there_are() -> None:
    rows = table_rows(LIFECYCLE, "Which there are")
    assert {words(row[0])[0] for row in rows} == set(SYSTEM_TYPES) - {WEBHOOK_PING}
    of_endpoints = {"endpoint", "url", "reason"}
    for kind, _, data, _ in rows:
        known = of_endpoints if words(kind)[0] == WEBHOOK_DISABLED else set(LifecycleEvent.__struct_fields__)
        assert set(words(data)) <= known, kind
    named = {word for row in rows for word in words(row[2])}
    assert set(LifecycleEvent.__struct_fields__) - named == {"type", "time"}


def test_settings_and_waits_of_an_endpoint_are_as_the_page_says() -> None:
    rows = table_rows(WEBHOOKS, "Add an endpoint")
    assert {words(row[0])[0].rstrip("=") for row in rows} == {*EndpointSettings.__annotations__, "secret"}
    units = {"s": 1, "min": 60, "h": 3600}
    told = WEBHOOKS.partition("By default the waits are ")[2].partition("and then a day each")[0]
    waits = [float(number) * units[unit] for number, unit in re.findall(r"([\d.]+) (s|min|h)\b", told)]
    waits += [RETRY.cap] * (RETRY.attempts - 1 - len(waits))
    assert waits == [min(RETRY.delay * RETRY.factor**place, RETRY.cap) for place in range(RETRY.attempts - 1)]
    assert 3.4 < sum(waits) / 86400 < 3.6


def test_what_the_page_says_is_refused_is_refused() -> None:
    urls = [url for row in table_rows(WEBHOOKS, "Private networks") for url in words(row[0])]
    assert len(urls) >= 9
    for url in urls:
        with pytest.raises(EndpointRefused):
            check_url(url.replace("…", "example.com/"))

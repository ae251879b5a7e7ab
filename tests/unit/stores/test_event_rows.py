"""Rows to events, matches, triggers and endpoints, and back: every field has its column, and times come as UTC."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import msgspec
import pytest

from workbell.model.endpoint import Endpoint, Health
from workbell.model.event import Event, Match, MatchOutcome
from workbell.model.ids import new_id
from workbell.model.trigger import Trigger
from workbell.stores import event_rows
from workbell.stores.rows import TIMES, fill_columns
from workbell.stores.subscribers import rows as subscribers
from workbell.testing.contracts.making import START, after
from workbell.testing.contracts.parts.events import fact
from workbell.testing.contracts.parts.subscribing import endpoint, full_endpoint, full_trigger, trigger

RENAMED = {"data_text": "data", "headers_text": "headers"}
PARIS = timezone(timedelta(hours=1))


@pytest.mark.parametrize(
    ("kind", "columns", "ordered"),
    [
        (Event, event_rows.EVENT, True),
        (Match, event_rows.MATCH, True),
        (Trigger, subscribers.TRIGGER, False),
        (Endpoint, subscribers.ENDPOINT, False),
        (Health, list(subscribers.HEALTH), True),
    ],
)
def test_every_field_has_its_column(kind: type[msgspec.Struct], columns: list[str], ordered: bool) -> None:
    fields = [RENAMED.get(name, name) for name in kind.__struct_fields__ if name != "unreadable"]
    assert (fields == columns) if ordered else (sorted(fields) == sorted(columns))


def abroad(values: list[Any]) -> list[Any]:
    """As a driver may give times: in the zone of the session."""
    return [value.astimezone(PARIS) if isinstance(value, datetime) else value for value in values]


def test_what_is_written_is_read() -> None:
    told = fact(data_text="{}", key="k", fanned_out_at=after(1), cause=new_id(), system=True)
    found = event_rows.event_from(abroad(list(event_rows.event_values(told).values())))
    assert found == told
    assert str(found.fanned_out_at) == str(after(1))
    match = Match(told.id, new_id(), MatchOutcome.TOO_DEEP, START, None, "too deep")
    assert event_rows.match_from(abroad(list(event_rows.match_row(match)))) == match
    assert [event_rows.match_values(match)[name] for name in event_rows.MATCH] == list(event_rows.match_row(match))
    for made in (trigger(), full_trigger()):
        values = subscribers.trigger_values(made)
        assert subscribers.trigger_from(abroad([values[name] for name in subscribers.TRIGGER])) == made
    for sent in (endpoint(), full_endpoint()):
        values = subscribers.endpoint_values(sent)
        assert subscribers.endpoint_from(abroad([values[name] for name in subscribers.ENDPOINT])) == sent


def test_an_engine_without_booleans_gives_numbers() -> None:
    values = event_rows.event_values(fact()) | {"system": 1}
    assert event_rows.event_from(list(values.values())).system is True
    values = subscribers.trigger_values(trigger()) | {"enabled": 0}
    assert subscribers.trigger_from([values[name] for name in subscribers.TRIGGER]).enabled is False


def test_every_time_is_known_as_one() -> None:
    """Else SQLite would be given a text, or give a number."""
    events = list(event_rows.event_values(fact(fanned_out_at=START)).values())
    times = [place for place, value in enumerate(events) if isinstance(value, datetime)]
    assert list(event_rows.time_positions(event_rows.EVENT)) == times
    values = subscribers.endpoint_values(full_endpoint())
    assert {name for name, value in values.items() if isinstance(value, datetime)} <= TIMES
    assert set(subscribers.HEALTH[2:]) <= TIMES


def test_columns_are_filled_into_a_query() -> None:
    assert fill_columns("SELECT {match} FROM x") == f"SELECT {', '.join(event_rows.MATCH)} FROM x"
    assert (
        fill_columns("VALUES ({match_values})") == "VALUES (:event, :subscriber, :outcome, :created_at, :run, :reason)"
    )
    assignments = fill_columns("{trigger_assignments}")
    assert "name = :name" in assignments
    assert "id = :id" not in assignments

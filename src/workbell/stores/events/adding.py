"""Adding events: the statements for new events, and for events that are part of other writes."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import Any

from workbell.errors import StoreUnavailable
from workbell.model.event import EmitKey, Event, NewEvent
from workbell.model.json_text import decode
from workbell.model.run import Added
from workbell.stores import event_rows
from workbell.stores.database import Conflict, Rows, Statement
from workbell.stores.event_rows import EVENT
from workbell.stores.flows import Ask, Do, Flow
from workbell.stores.refusals import key_reused

TRIES = 20  # the event that has the key may be removed between two statements


def add_events(new: Iterable[Event], exactly: int | None = None) -> Statement:
    """Events; those whose key is taken are left out. Several writes may carry the same one."""
    once = {event.id: event for event in new}
    # In the order of their keys: two writers of the same events would deadlock otherwise.
    ordered = sorted(once.values(), key=_lock_order)
    rows = Rows(EVENT, [event_rows.event_row(event) for event in ordered])
    return Statement("add_events", {"rows": rows}, exactly)


def _lock_order(event: Event) -> tuple[str, str, str]:
    return event.tenant, event.source, event.key or ""


def emitting(new: Sequence[NewEvent], made: Container[str] = ()) -> Flow[list[Added]]:
    """Store events, and say for each which one stands for it; `made` were stored before, by the same call.

    Those of an HTTP request under an Idempotency-Key are all new, or all there already: else KeyReused is raised, and
    nothing is written.
    """
    known = {one.event.id: Added(one.event.id, True) for one in new if one.event.id in made}
    for _ in range(TRIES):
        left = [one for one in new if one.event.id not in known]
        if not left:
            return [known[one.event.id] for one in new]
        asked = [one for one in left if one.once is not None]
        others = [one.event for one in left if one.once is None]
        batch = [add_events((one.event for one in asked), exactly=len(asked))] if asked else []
        batch += [Statement("event_holder", values, exactly=0) for values in _beside(asked)]
        batch += [add_events(others)] if others else []
        try:
            answers = yield Do(batch)
        except Conflict:
            known |= yield from _emitted_before(asked)
            continue
        known |= {one.event.id: Added(one.event.id, True) for one in asked}
        stored = {row[0] for row in answers[-1]} if others else set()
        known |= {
            event.id: Added(event.id, event.id in stored) for event in others if event.id in stored or event.key is None
        }
        known |= yield from _holders([event for event in others if event.id not in known])
    raise StoreUnavailable("The events that have the keys of new ones came and went all the time; repeat the call.")


def _holders(events: Sequence[Event]) -> Flow[dict[str, Added]]:
    """The events that have the keys of these; without those that were removed meanwhile."""
    if not events:
        return {}
    answers = yield Ask([Statement("event_holder", _key(event)) for event in events])
    found = zip(events, answers, strict=True)
    return {event.id: Added(str(rows[0][0]), rows[0][0] == event.id) for event, rows in found if rows}


def _emitted_before(asked: Sequence[NewEvent]) -> Flow[dict[str, Added]]:
    """Check refused events of HTTP requests: raises KeyReused if the key of one was used for another request.

    A request is written whole: of the same one either all events are there or none, and they say the same.
    """
    requests: dict[tuple[str, EmitKey], list[Event]] = {}
    for event, once in asked:
        if once is not None:
            requests.setdefault((event.tenant, once), []).append(event)
    known: dict[str, Added] = {}
    for (_, once), events in requests.items():
        (other,) = yield Ask([Statement("event_holder", _key(events[0]) | {"key": once.beside})])
        if other:
            raise key_reused(once.key, f"event {other[0][0]}")
        holders = yield from _holders(events)
        if not holders:
            continue
        (rows,) = yield Ask([Statement("find_events", {"ids": [answer.id for answer in holders.values()]})])
        first = {row[0]: row for row in rows}
        for event in events:
            answer = holders.get(event.id)
            if answer is None or (answer.id in first and _row_content(first[answer.id]) != _content(event)):
                raise key_reused(once.key, f"event {next(iter(holders.values())).id}")
        known |= holders
    return known


def _key(event: Event) -> dict[str, Any]:
    return {"tenant": event.tenant, "source": event.source, "key": event.key}


def _beside(asked: Sequence[NewEvent]) -> list[dict[str, Any]]:
    first = {(event.tenant, once): event for event, once in reversed(asked)}
    return [_key(event) | {"key": once.beside} for (_, once), event in first.items() if once is not None]


def _content(event: Event) -> tuple[Any, ...]:
    return event.type, event.subject, decode(event.data_text)


def _row_content(row: Sequence[Any]) -> tuple[Any, ...]:
    values = dict(zip(EVENT, row, strict=True))
    return values["type"], values["subject"], decode(values["data"])

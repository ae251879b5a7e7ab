"""The checker of fan-outs: from all that a store holds, what does not follow from its events, or does not but should.

It does not know patterns: whoever asks says which subscribers hear of which type.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from workbell.model.event import Event, Match
from workbell.model.run import Run
from workbell.stores.port import Store

from .checker import Violation


class Facts(NamedTuple):
    """Events, what they matched, and all runs, live or finished."""

    events: dict[str, Event]
    matches: list[Match]
    runs: list[Run]


def facts(store: Store) -> Facts:
    batches = list(store.export())
    return Facts(
        {event.id: event for batch in batches for event in batch.events},
        [match for batch in batches for match in batch.matches],
        [run for batch in batches for run in batch.runs],
    )


def check_fan_out(held: Facts, hearers: Mapping[str, set[str]]) -> list[Violation]:
    """Every event has one run and one row for each subscriber that hears of it, and nothing else has any."""
    return [*_all_are_done(held), *_ledger_is_whole(held, hearers), *_runs_are_right(held, hearers)]


def _all_are_done(held: Facts) -> Iterator[Violation]:
    for event in held.events.values():
        if event.fanned_out_at is None:
            yield Violation("waiting", event.id, f"{event.type} was not fanned out")


def _ledger_is_whole(held: Facts, hearers: Mapping[str, set[str]]) -> Iterator[Violation]:
    rows: dict[str, list[str]] = defaultdict(list)
    for match in held.matches:
        rows[match.event].append(match.subscriber)
    for event_id in rows.keys() - held.events.keys():
        yield Violation("of nothing", event_id, "has rows in the ledger, and is no event")
    for event in held.events.values():
        wanted, found = hearers.get(event.type, set()), rows[event.id]
        if len(found) != len(set(found)):
            yield Violation("row twice", event.id, str(Counter(found)))
        if wanted - set(found):
            yield Violation("no row", event.id, f"{event.type}: none for {sorted(wanted - set(found))}")
        if set(found) - wanted:
            yield Violation("row too many", event.id, f"{event.type}: {sorted(set(found) - wanted)} hear nothing of it")


def _runs_are_right(held: Facts, hearers: Mapping[str, set[str]]) -> Iterator[Violation]:
    runs: dict[tuple[str, str], list[str]] = defaultdict(list)
    for run in held.runs:
        if run.event is not None:
            runs[run.event, run.options.trigger or ""].append(run.id)
    wanted = {(event.id, one) for event in held.events.values() for one in hearers.get(event.type, set())}
    for place in wanted - runs.keys():
        yield Violation("no run", place[0], f"none for {place[1]}")
    for place in runs.keys() - wanted:
        yield Violation("run too many", place[0], f"{place[1]} has {len(runs[place])} of what it does not hear of")
    for place, found in runs.items():
        if len(found) > 1:
            yield Violation("run twice", place[0], f"{place[1]} has {len(found)}")
    for match in held.matches:
        if match.run is None or match.run not in runs[match.event, match.subscriber]:
            yield Violation("wrong run", match.event, f"the row of {match.subscriber} names {match.run}")

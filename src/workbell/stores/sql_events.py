"""The verbs about events that every SQL store has alike: stored first, fanned out from storage in one transaction."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterable, Sequence
from datetime import datetime
from typing import Any, TypeVar

from workbell.model.event import Event, FannedOut, Match, NewEvent, OnceTold, Rematch
from workbell.model.ids import FIRST_ID, LAST_ID
from workbell.model.run import Added, Lane, NewRun
from workbell.stores import event_rows
from workbell.stores.database import Statement
from workbell.stores.event_rows import EVENT, MATCH
from workbell.stores.group_commit import GroupCommit
from workbell.stores.port import Pair, Publisher
from workbell.stores.session import Session
from workbell.stores.statements import Tag, key_reused, new_requests, refuse_other_events, replaced_tag

T = TypeVar("T")


class SqlEvents(ABC):
    """Events and what they matched, over a `Session`."""

    publisher: Publisher

    def __init__(self) -> None:
        self._event_adds: GroupCommit[NewEvent, Added] = GroupCommit(self._write_events, self._written_events)

    @abstractmethod
    def read(self, work: Callable[[Session], T]) -> T: ...

    @abstractmethod
    def write(self, work: Callable[[Session], T]) -> T: ...

    @abstractmethod
    def wake(self) -> None: ...

    @abstractmethod
    def spell(self, columns: Sequence[str], values: Sequence[Sequence[Any]]) -> dict[str, Any]: ...

    @abstractmethod
    def prepare_lanes(self, new: Sequence[NewRun]) -> Sequence[Lane]: ...

    @abstractmethod
    def spell_runs(self, new: Sequence[NewRun]) -> Any: ...

    @abstractmethod
    def _ensure_lanes(self, session: Session, lanes: Iterable[Lane]) -> None: ...

    @abstractmethod
    def note_lanes(self, lanes: Sequence[Lane]) -> None: ...

    @abstractmethod
    def _add(
        self, session: Session, new: Sequence[NewRun], unknown: Sequence[Lane]
    ) -> tuple[list[Added], list[Pair]]: ...

    def held_tags(self, _session: Session, _new: Sequence[NewRun]) -> set[Tag]:
        """The tags of runs that new ones replace, where another transaction has locked them: those are not waited for,
        as all else that is made at the same time would wait as well. None, where all writes are one after the other."""
        return set()

    # Making events

    def add_events(self, new: Sequence[Event], once: OnceTold | None = None) -> list[Added]:
        if not new:
            return []
        # Workbell's own do not wait behind a caller's, whose key may be held by an open transaction.
        own = all(event.system for event in new)
        items = [NewEvent(event, once) for event in new]
        added = self._write_events(items) if own else self._submit_events(items)
        self.wake()
        return added

    def _submit_events(self, new: Sequence[NewEvent]) -> list[Added]:
        """Write the events of one caller, together with those of others that come at the same moment."""
        return self._event_adds.submit(new)

    def _written_events(self, new: Sequence[NewEvent]) -> list[Added] | None:
        """What became of events whose write was interrupted; None if none of them was made."""
        events = [one.event for one in new]
        made = self.find_events([event.id for event in events])
        if not made:
            return None
        return self.write(lambda session: self._answers(session, events, made))

    def _write_events(self, new: Sequence[NewEvent]) -> list[Added]:
        return self.write(lambda session: self._emit_once(session, new))

    def _emit_once(self, session: Session, new: Sequence[NewEvent]) -> list[Added]:
        """Events in one transaction; those of an HTTP request under a key that stands for another one undo it."""
        added = self.emit_in(session, [one.event for one in new])
        if not any(one.once for one in new):
            return added
        for event, once in new_requests(new, added):
            for row in session.rows("event_holder", tenant=event.tenant, source=event.source, key=once.beside):
                raise key_reused(once.key, f"event {row[0]}")
        held = [answer.id for one, answer in zip(new, added, strict=True) if one.once and not answer.created]
        if held:
            found = [event_rows.event_from(row) for row in session.rows("find_events", ids=held)]
            refuse_other_events(new, added, {event.id: event for event in found})
        return added

    def emit_in(self, session: Session, new: Sequence[Event]) -> list[Added]:
        """Events in a transaction that is under way; for each the id of the one that stands for it."""
        # In the order of their keys, so that two writers of the same ones do not wait for each other crosswise.
        ordered = sorted(new, key=_place)
        values = [list(event_rows.event_values(event).values()) for event in ordered]
        made = {row[0] for row in session.rows("add_events", **self.spell(EVENT, values))}
        return self._answers(session, new, made)

    def _answers(self, session: Session, new: Sequence[Event], made: Container[str]) -> list[Added]:
        return [Added(event.id, True) if event.id in made else Added(_holder(session, event), False) for event in new]

    def tell_in(self, session: Session, told: Iterable[Event]) -> None:
        """Events that ride on other writes. Several of those may carry the same one."""
        once = {event.id: event for event in told}
        self.emit_in(session, list(once.values()))

    # Fanning them out

    def waiting_events(self, limit: int) -> list[Event]:
        return self.read(lambda s: [event_rows.event_from(row) for row in s.rows("waiting_events", limit=limit)])

    def fan_out(self, fanned: Sequence[FannedOut], now: datetime) -> set[str]:
        if not fanned:
            return set()
        spelled = _Spelled(self, fanned)
        unknown = self.prepare_lanes([*spelled.runs, *spelled.replacing])
        taken, replaced = self.write(lambda session: self._fan_out(session, spelled, unknown, now))
        if taken:
            self.note_lanes(unknown)
        self.publisher.written(replaced)
        return taken

    def _fan_out(
        self, session: Session, spelled: _Spelled, unknown: Sequence[Lane], now: datetime
    ) -> tuple[set[str], list[Pair]]:
        """The events that were taken, and the waiting runs that theirs have replaced."""
        if spelled.replacing and (held := self.held_tags(session, spelled.replacing)):
            free = [one for one in spelled.fanned if all(replaced_tag(run) not in held for run in one.runs)]
            spelled = _Spelled(self, free)
        ids = [one.event_id for one in spelled.fanned]
        taken = {row[0] for row in session.rows("take_events", ids=ids, now=now)}
        if len(taken) < len(ids):  # another scheduler has, or had, some of them
            spelled = _Spelled(self, [one for one in spelled.fanned if one.event_id in taken])
        if unknown and taken:  # all of them: they count as written from now on
            self._ensure_lanes(session, unknown)
        if spelled.runs:
            session.insert_spelled(spelled.run_rows)
        if spelled.matches:
            session.rows("add_matches", **spelled.matches)
        replaced = self._add(session, spelled.replacing, ())[1] if spelled.replacing else []
        return taken, replaced

    def add_matched(self, matched: Sequence[Rematch]) -> set[str]:
        if not matched:
            return set()
        unknown = self.prepare_lanes([one.request for one in matched if one.request is not None])
        # In one order, so that two writers of the same ones do not wait for each other crosswise.
        ordered = sorted(matched, key=lambda one: (one.match.event, one.match.subscriber))

        def work(session: Session) -> set[str]:
            if unknown:
                self._ensure_lanes(session, unknown)
            taken = [one.request for one in ordered if self._rematch(session, one)]
            mine = [request for request in taken if request is not None]
            if mine:
                session.insert(mine)
            return {request.run.id for request in mine}

        made = self.write(work)
        self.note_lanes(unknown)
        self.wake()
        return made

    def _rematch(self, session: Session, one: Rematch) -> bool:
        return bool(session.rows("put_match", before=one.before, **event_rows.match_values(one.match)))

    def delete_events_in(self, session: Session, before: datetime, limit: int) -> int:
        """Events whose time is over, with what they matched."""
        gone = [row[0] for row in session.rows("delete_events", before=before, limit=limit)]
        if gone:
            self._delete_matches(session, gone)
        return len(gone)

    def _delete_matches(self, session: Session, gone: Sequence[str]) -> None:
        """Where one statement cannot do both."""
        return

    # Reading

    def find_events(self, ids: Iterable[str]) -> dict[str, Event]:
        wanted = list(ids)
        found = self.read(lambda s: [event_rows.event_from(row) for row in s.rows("find_events", ids=wanted)])
        return {event.id: event for event in found}

    def list_events(self, tenant: str, *, type: str | None, before: str | None, limit: int) -> list[Event]:  # noqa: A002
        values: dict[str, Any] = {"tenant": tenant, "before": before or LAST_ID, "limit": limit}
        name = "list_events"
        if type is not None:
            name, values["type"] = "list_events_of", type
        return self.read(lambda s: [event_rows.event_from(row) for row in s.rows(name, **values)])

    def matches_of_event(self, event: str, *, after: str | None, limit: int) -> list[Match]:
        values = {"event": event, "after": after or FIRST_ID, "limit": limit}
        return self.read(lambda s: [event_rows.match_from(row) for row in s.rows("matches_of_event", **values)])

    def matches_of_subscriber(self, subscriber: str, *, before: str | None, limit: int) -> list[Match]:
        values = {"subscriber": subscriber, "before": before or LAST_ID, "limit": limit}
        return self.read(lambda s: [event_rows.match_from(row) for row in s.rows("matches_of_subscriber", **values)])


class _Spelled:
    """What follows from events, and the parameters of the statements that write it."""

    def __init__(self, store: SqlEvents, fanned: Sequence[FannedOut]) -> None:
        self.fanned = fanned
        self.runs = [request for one in fanned for request in one.runs if not request.replace_tag]
        self.replacing = [request for one in fanned for request in one.runs if request.replace_tag]
        self.run_rows = store.spell_runs(self.runs) if self.runs else None
        matches = [event_rows.match_row(match) for one in fanned for match in one.matches]
        self.matches = store.spell(MATCH, matches) if matches else {}


def _place(event: Event) -> tuple[str, str, str]:
    return event.tenant, event.source, event.key or ""


def _holder(session: Session, event: Event) -> str:
    """The event that has the key; if it was removed at this very moment, then this one."""
    *made, holder = statements_for_event(event)
    for statement in (holder, *made, holder):
        found = session.execute(statement)
        if statement is holder and found:
            return str(found[0][0])
    return event.id


def statements_for_event(event: Event) -> list[Statement]:
    """Making an event as plain statements, which any connection can execute; the last one says which event it is."""
    made = Statement("add_event", event_rows.event_values(event))
    if event.key is None:
        return [made]
    return [made, Statement("event_holder", {"tenant": event.tenant, "source": event.source, "key": event.key})]

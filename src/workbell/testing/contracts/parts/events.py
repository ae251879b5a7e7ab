"""Contract of events: stored once for each source and key, listed, published with moves of runs, removed in time."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from datetime import datetime, timedelta
from random import Random
from typing import Any

import msgspec
import pytest

from workbell.errors import DuplicateRun, KeyReused
from workbell.model import state
from workbell.model.event import EmitKey, Event, FannedOut, Match, MatchOutcome
from workbell.model.ids import new_id
from workbell.model.run import Added, Run
from workbell.model.state import Move
from workbell.stores.port import Store
from workbell.stores.publisher import Pair
from workbell.testing.contracts.core.moving import MAKE, in_status
from workbell.testing.contracts.core.sharing import THREADS, at_once
from workbell.testing.contracts.core.texts import NASTY
from workbell.testing.contracts.making import KEEP, START, add, after, claim, claimed, find, request

OVER = START + KEEP.events  # when events from the start may be removed


def fact(type: str = "posts.created", *, at: float = 0, tenant: str = "default", **fields: Any) -> Event:  # noqa: A002
    """An event emitted `at` seconds after the start."""
    event = Event(new_id(), tenant, type, "/shop", after(at), after(at))
    return msgspec.structs.replace(event, **fields)


def emitted(store: Store, *events: Event) -> list[Event]:
    """Store events, all of them new."""
    assert store.events.add(events) == [Added(event.id, True) for event in events]
    return list(events)


def event_ids(events: list[Event]) -> list[str]:
    return [event.id for event in events]


def listed(store: Store, tenant: str = "default", **wanted: Any) -> list[str]:
    return event_ids(store.events.list(tenant, **({"type": None, "before": None, "limit": 100} | wanted)))


def settle(store: Store, *events: Event, now: datetime = START) -> None:
    """Fan events out, with nothing that follows from them."""
    assert store.events.fan_out([FannedOut(event.id) for event in events], now) == {event.id for event in events}


def started(store: Store, event: Event) -> Run:
    """Fan an event out into one run, which is claimed."""
    new = request(event=event.id)
    match = Match(event.id, new_id(), MatchOutcome.STARTED, after(0), new.run.id)
    assert store.events.fan_out([FannedOut(event.id, (match,), (new,))], START) == {event.id}
    (run,) = claim(store)
    return run


class OneEventPublisher:
    """A publisher that gives every end one event."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def publish(self, pairs: Sequence[Pair]) -> Sequence[Pair]:
        made = [fact("run.canceled", key=run.id) for run, _ in pairs]
        self.events += made
        return [
            (run, msgspec.structs.replace(change, emits=(event,)))
            for (run, change), event in zip(pairs, made, strict=True)
        ]

    def written(self, pairs: Sequence[Pair]) -> None: ...


class EventsContract:
    # Making and finding

    def test_the_longest_words(self, store: Store) -> None:
        """What may be given as a tenant, a source and a key fits into every store, also where nothing can be pressed
        together: names have 200 characters, and a source 1,024 bytes."""
        letters = Random(7)
        long = "".join(chr(letters.randrange(0x20000, 0x2A000)) for _ in range(656))  # of four bytes each
        emitted(store, fact(tenant=long[:200], key=long[200:400], source=long[400:656]))

    def test_an_event_is_found_as_it_was_stored(self, store: Store) -> None:
        """C4: every field comes back unchanged; stored alone, or with others."""
        full = fact(
            tenant="acme",
            time=START - timedelta(days=400, microseconds=-123_457),
            subject="posts/7",
            data_text='{"id":7}',
            key="emitted-1",
            system=True,
            depth=3,
            cause=new_id(),
        )
        other = msgspec.structs.replace(full, id=new_id(), key="emitted-2")
        emitted(store, full)
        emitted(store, other, fact())
        assert store.events.find([full.id, other.id, new_id()]) == {full.id: full, other.id: other}
        assert store.events.find([]) == {}
        assert store.events.add([]) == []

    def test_events_keep_their_texts(self, store: Store) -> None:
        made = [
            fact(tenant=text[:99], source=text[:99], subject=text, data_text=text, key=text[:99])
            for text in NASTY.values()
        ]
        emitted(store, made[0])
        emitted(store, *made[1:])
        assert store.events.find(event_ids(made)) == {event.id: event for event in made}
        again = [msgspec.structs.replace(event, id=new_id()) for event in made]
        assert store.events.add(again) == [Added(event.id, False) for event in made]

    def test_an_event_gives_a_hint(self, store: Store) -> None:
        watch = store.watch()
        try:
            while watch.wait(0.05):
                pass
            emitted(store, fact())
            assert watch.wait(20)
        finally:
            watch.close()

    # Deduplicating

    def test_one_source_and_key_is_one_event(self, store: Store) -> None:
        """C4: emitted again, the first one counts, also when that has been fanned out."""
        (first,) = emitted(store, fact(key="k", data_text="1"))
        assert store.events.add([fact(key="k", data_text="2", type="posts.updated")]) == [Added(first.id, False)]
        settle(store, first)
        assert store.events.add([fact(key="k", at=9)]) == [Added(first.id, False)]
        assert listed(store) == [first.id]

    def test_sources_and_tenants_have_keys_of_their_own(self, store: Store) -> None:
        emitted(store, fact(key="k"), fact(key="k", source="/other"), fact(key="k", tenant="b"), fact(key="l"))
        emitted(store, fact(), fact(), fact())

    def test_one_key_twice_in_a_batch_of_events(self, store: Store) -> None:
        """The first of them counts, wherever it stands."""
        (held,) = emitted(store, fact(key="held"))
        late, first, second, plain = fact(key="z"), fact(key="k"), fact(key="k"), fact()
        answers = store.events.add([late, first, second, plain, fact(key="held"), fact(key="z")])
        expected = [(late, True), (first, True), (first, False), (plain, True), (held, False), (late, False)]
        assert answers == [Added(event.id, created) for event, created in expected]
        assert listed(store) == event_ids([plain, first, late, held])

    def test_facts_of_a_request_again_are_the_first_ones(self, store: Store) -> None:
        once = EmitKey("k", beside="k")
        first = [fact(key="k:0", data_text='{"a":1,"b":2}'), fact(key="k:1", subject="7")]
        again = [fact(key="k:0", data_text='{"b":2,"a":1}', at=3), fact(key="k:1", subject="7", at=3)]
        assert [one.created for one in store.events.add(first, once)] == [True, True]
        assert store.events.add(again, once) == [Added(event.id, False) for event in first]

    def test_other_facts_under_the_key_of_a_request_store_nothing(self, store: Store) -> None:
        once = EmitKey("k", beside="k")
        first = [fact(key="k:0", data_text="1"), fact(key="k:1", data_text="2")]
        store.events.add(first, once)
        others = [
            [fact(key="k:0", data_text="1"), fact(key="k:1", data_text="2"), fact(key="k:2", data_text="3")],
            [fact(key="k:0", data_text="1"), fact(key="k:1", data_text="3")],
            [fact(key="k:0", data_text="1", type="posts.updated"), fact(key="k:1", data_text="2")],
            [fact(key="k:0", data_text="1", subject="7"), fact(key="k:1", data_text="2")],
            [fact(key="k:0", data_text="1"), fact(key="k:1", data_text="2", source="/other")],
        ]
        for other in others:
            with pytest.raises(KeyReused, match="Idempotency-Key 'k' was used for another request"):
                store.events.add(other, once)
        with pytest.raises(KeyReused, match=f"event {first[0].id}"):
            store.events.add([fact(key="k")], EmitKey("k", beside="k:0"))
        assert sorted(listed(store)) == sorted(event_ids(first))

    def test_one_key_at_once_makes_one_event(self, store: Store) -> None:
        answers = at_once(lambda number: store.events.add([fact(), fact(key="k"), fact(key=f"k{number % 2}")]))
        assert all(answer[0].created for answer in answers)
        assert sum(answer[1].created for answer in answers) == 1
        assert len({answer[1].id for answer in answers}) == 1
        assert sum(answer[2].created for answer in answers) == 2
        assert len(listed(store)) == THREADS + 3

    # Listing

    def test_events_are_listed_newest_first_and_in_pages(self, store: Store) -> None:
        posts = emitted(store, *[fact(data_text=str(number)) for number in range(4)])
        users = emitted(store, *[fact("users.created") for _ in range(3)])
        emitted(store, fact(tenant="b"))
        every = list(reversed(event_ids(posts + users)))
        assert listed(store, limit=5) == every[:5]
        assert listed(store, limit=5, before=every[4]) == every[5:]
        assert listed(store, before=every[-1]) == []
        assert listed(store, type="users.created", limit=2) == every[:2]
        assert listed(store, type="users.created", before=every[1]) == every[2:3]
        assert listed(store, type="users") == []
        assert listed(store, "c") == []
        assert len(listed(store, "b")) == 1
        found = store.events.list("default", type="posts.created", before=None, limit=9)
        assert found == list(reversed(posts))

    # Published with a move

    @pytest.mark.parametrize("move", [Move.SUCCEED, Move.FAIL, Move.CANCEL, Move.RETRY, Move.RELEASE, Move.DISPATCH])
    def test_a_move_publishes_its_events_if_it_happens(self, store: Store, move: Move) -> None:
        """A7: in the same write, and once, whether the run ends or goes on."""
        run = in_status(store, state.MOVES[move].sources[0])
        first, second, never = fact(cause=run.id), fact(cause=run.id), fact(cause=run.id)
        change = MAKE[move](run)
        assert store.runs.apply([msgspec.structs.replace(change, emits=(first, second))]) == {run.id}
        assert store.runs.apply([msgspec.structs.replace(change, emits=(never,))]) == set()
        assert store.events.find([first.id, second.id, never.id]) == {first.id: first, second.id: second}
        assert event_ids(store.events.waiting(9)) == [first.id, second.id]

    def test_of_a_batch_only_what_moved_is_published(self, store: Store) -> None:
        add(store, request(), request(at=1), request(at=2))
        done, lost, retried = claim(store, at=3)
        store.runs.apply([state.release(lost, after(4))])
        changes = [MAKE[Move.SUCCEED](done), MAKE[Move.SUCCEED](lost), MAKE[Move.RETRY](retried)]
        published = [fact(cause=run.id) for run in (done, lost, retried)]
        emitting = [msgspec.structs.replace(c, emits=(e,)) for c, e in zip(changes, published, strict=True)]
        assert store.runs.apply(emitting) == {done.id, retried.id}
        assert set(store.events.find(event_ids(published))) == {published[0].id, published[2].id}

    @pytest.mark.parametrize("on_duplicate", ["replace", "reject"])
    def test_what_is_replaced_emits_its_events_with_the_write(self, store: Store, on_duplicate: str) -> None:
        """And nothing, if a duplicate is rejected."""
        add(store, request(tag="t"), request(key="k"))
        publisher = store.publisher = OneEventPublisher()
        with contextlib.suppress(DuplicateRun):
            store.runs.add([request(tag="t", key="k", replace_tag=True, on_duplicate=on_duplicate, at=1)])
        made = {event.id: event for event in publisher.events}
        assert store.events.find(made) == (made if on_duplicate == "replace" else {})
        assert len(made) == (2 if on_duplicate == "replace" else 1)

    def test_an_attempt_stores_the_result_that_came_with_its_error(self, store: Store) -> None:
        """C8: what an endpoint answered, for every try."""
        run = claimed(store)
        failed = state.retry(run, after(1), error="E", reason="error", wait=timedelta(1), result='{"status":503}')
        assert store.runs.apply([failed]) == {run.id}
        (attempt,) = store.runs.attempts(run.id)
        assert attempt == failed.ended
        assert attempt.result == {"status": 503}
        assert find(store, run).result is None

    # Removing

    def test_events_go_when_their_time_is_over(self, store: Store) -> None:
        """With their matches; and then the key is free again."""
        old, young = emitted(store, fact(key="k"), fact(at=60))
        match = Match(old.id, new_id(), MatchOutcome.DISABLED, after(0), reason="it was disabled")
        keys = Match(young.id, match.subscriber, MatchOutcome.DISABLED, after(0))
        store.events.fan_out([FannedOut(old.id, (match,)), FannedOut(young.id, (keys,))], after(5))
        assert store.prune(OVER - timedelta(seconds=1), 100) == 0
        assert store.prune(OVER, 100) == 1
        assert store.events.find([old.id, young.id]) == {
            young.id: msgspec.structs.replace(young, fanned_out_at=after(5))
        }
        assert store.events.matches(old.id, after=None, limit=9) == []
        assert store.events.matches_of_subscriber(match.subscriber, before=None, limit=9) == [keys]
        emitted(store, fact(key="k", at=99))

    def test_what_waits_for_its_fan_out_stays(self, store: Store) -> None:
        (waiting,) = emitted(store, fact(key="k"))
        assert store.prune(OVER + timedelta(days=99), 100) == 0
        settle(store, waiting)
        assert store.prune(OVER, 100) == 1

    def test_an_event_stays_as_long_as_a_run_may_ask_for_it(self, store: Store) -> None:
        (event,) = emitted(store, fact())
        run = started(store, event)
        assert store.prune(OVER, 100) == 0
        store.runs.apply([state.succeed(run, OVER, result=None, keep=KEEP.succeeded)])
        assert store.prune(OVER, 100) == 1
        assert store.events.find([event.id]) == {}
        assert find(store, run).event == event.id

    def test_the_oldest_go_first_a_batch_at_a_time(self, store: Store) -> None:
        late, early, middle = emitted(store, fact(at=2), fact(at=0), fact(at=1))
        settle(store, late, early, middle)
        over = OVER + timedelta(seconds=9)
        assert store.prune(over, 2) == 2
        assert listed(store) == [late.id]
        assert store.prune(over, 2) == 1

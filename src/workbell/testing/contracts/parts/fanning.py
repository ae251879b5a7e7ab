"""Contract of the fan-out: the matches of an event are written once and together, also by concurrent schedulers."""

from __future__ import annotations

from typing import Any

import msgspec

from workbell.model import state
from workbell.model.event import Event, FannedOut, Match, MatchOutcome, Rematch
from workbell.model.ids import new_id
from workbell.model.run import Status
from workbell.stores.port import Filter, Store
from workbell.stores.runs.adding import ROUND
from workbell.testing.contracts.core.sharing import at_once
from workbell.testing.contracts.making import KEEP, START, add, after, claim, find, ids, request
from workbell.testing.contracts.parts.events import emitted, event_ids, fact, settle


def fanned(event: Event, *subscribers: str, at: float = 0, **fields: Any) -> FannedOut:
    """A run of an event for each of these."""
    new = [request(at=at, event=event.id, **fields) for _ in subscribers]
    pairs = zip(subscribers, new, strict=True)
    matches = [Match(event.id, one, MatchOutcome.STARTED, after(at), made.run.id) for one, made in pairs]
    return FannedOut(event.id, tuple(matches), tuple(new))


def run_ids(*decided: FannedOut) -> list[str]:
    return [new.run.id for one in decided for new in one.runs]


def ledger(store: Store, event: Event) -> list[Match]:
    return store.events.matches(event.id, after=None, limit=2000)


class FanningContract:
    # What waits

    def test_events_wait_oldest_first_and_without_their_data(self, store: Store) -> None:
        made = emitted(store, *[fact(data_text="{}", subject="s", key=f"k{number}") for number in range(4)])
        bare = [msgspec.structs.replace(event, data_text=None) for event in made]
        assert store.events.waiting(9) == bare
        assert store.events.waiting(2) == bare[:2]
        settle(store, made[1])
        assert store.events.waiting(2) == [bare[0], bare[2]]

    def test_an_event_that_comes_late_is_found_as_well(self, store: Store) -> None:
        """No cursor goes over them: an older one may be committed after a newer one was fanned out."""
        late = fact()
        (first,) = emitted(store, fact())
        settle(store, first)
        emitted(store, late)
        assert event_ids(store.events.waiting(9)) == [late.id]
        settle(store, late)
        assert store.events.waiting(9) == []

    # Writing what follows

    def test_an_event_replaces_any_number_of_waiting_runs(self, store: Store) -> None:
        """But one that another scheduler has fanned out ends none of them, though they end in several writes."""
        event, by = emitted(store, fact())[0], new_id()
        decided = fanned(event, by, tag="t", replace_tag=True)
        before = ids(add(store, *(request(tag="t") for _ in range(ROUND + 1))))
        assert store.events.fan_out([decided], after(3)) == {event.id}
        assert {run.status for run in store.runs.find(before).values()} == {Status.CANCELED}
        behind = ids(add(store, *(request(tag="t") for _ in range(ROUND + 1))))
        assert store.events.fan_out([decided], after(4)) == set()
        assert {run.status for run in store.runs.find(behind).values()} == {Status.QUEUED}

    def test_all_that_follows_is_written(self, store: Store) -> None:
        """C3: runs, ledger, and that it is done."""
        event, nobodys = emitted(store, fact(data_text='{"id":7}'), fact())
        one, other, off, deep = sorted(new_id() for _ in range(4))
        decided = fanned(event, one, other)
        others = (
            Match(event.id, off, MatchOutcome.DISABLED, after(0), None, "it was disabled"),
            Match(event.id, deep, MatchOutcome.TOO_DEEP, after(0), None, "9 events lie behind it"),
        )
        decided = decided._replace(matches=decided.matches + others)
        assert store.events.fan_out([decided, FannedOut(nobodys.id)], after(3)) == {event.id, nobodys.id}
        assert store.events.waiting(9) == []
        done = msgspec.structs.replace(event, fanned_out_at=after(3))
        assert store.events.find([event.id]) == {event.id: done}
        assert ledger(store, event) == list(decided.matches)
        assert ledger(store, nobodys) == []
        assert store.runs.find(run_ids(decided)) == {new.run.id: new.run for new in decided.runs}
        assert sorted(ids(claim(store))) == sorted(run_ids(decided))

    def test_a_second_time_writes_nothing(self, store: Store) -> None:
        event, other = emitted(store, fact(), fact())
        subscriber = new_id()
        first, again, beside = fanned(event, subscriber), fanned(event, subscriber, new_id()), fanned(other, subscriber)
        assert store.events.fan_out([first], START) == {event.id}
        assert store.events.fan_out([again], after(1)) == set()
        assert store.events.fan_out([again, beside], after(2)) == {other.id}
        assert store.runs.find(run_ids(again)) == {}
        assert set(store.runs.find(run_ids(first, beside))) == set(run_ids(first, beside))
        assert ledger(store, event) == list(first.matches)
        assert store.events.find([event.id])[event.id].fanned_out_at == START

    def test_of_an_event_that_is_not_there_nothing_follows(self, store: Store) -> None:
        ghost = fact()
        decided = fanned(ghost, new_id())
        assert store.events.fan_out([decided], START) == set()
        assert store.events.fan_out([], START) == set()
        assert store.runs.find(run_ids(decided)) == {}
        assert ledger(store, ghost) == []

    def test_an_entry_that_was_not_needed_can_be_used_later(self, store: Store) -> None:
        """The lane of a run that was not made, because another scheduler had the event, need not be there."""
        (event,) = emitted(store, fact())
        settle(store, event)
        assert store.events.fan_out([fanned(event, new_id(), queue="new", lane_key="k")], START) == set()
        (run,) = add(store, request(queue="new", lane_key="k"))
        assert ids(claim(store)) == [run.id]

    def test_each_receiver_may_have_a_lane_of_its_own(self, store: Store) -> None:
        events = emitted(store, *[fact() for _ in range(3)])
        lanes = [new_id() for _ in range(5)]
        for event in events:
            new = [request("send", event=event.id, lane_key=lane, input_text=f'"{lane}"') for lane in lanes]
            assert store.events.fan_out([FannedOut(event.id, (), tuple(new))], START) == {event.id}
        assert len({head.lane for head in store.runs.survey(-1, 100)}) == len(lanes)
        for lane in lanes:
            found = store.runs.list(Filter("default", job="send", lane_key=lane))
            assert [(run.event, run.lane.key, run.input_text) for run in found] == [
                (event.id, lane, f'"{lane}"') for event in reversed(events)
            ]

    def test_many_runs_of_many_events(self, store: Store) -> None:
        events = emitted(store, *[fact() for _ in range(40)])
        subscribers = sorted(new_id() for _ in range(30))
        decided = [fanned(event, *subscribers, options_text='{"depth":1}') for event in events]
        assert store.events.fan_out(decided, after(1)) == set(event_ids(events))
        assert len(store.runs.find(run_ids(*decided))) == 1200
        assert ledger(store, events[-1]) == list(decided[-1].matches)
        assert len(store.events.matches_of_subscriber(subscribers[0], before=None, limit=99)) == 40

    def test_many_at_once_fan_out_each_event_once(self, store: Store) -> None:
        """C3: any number of schedulers, each with a decision of its own."""
        events = emitted(store, *[fact() for _ in range(20)])
        subscribers = [new_id(), new_id()]

        def decide(number: int) -> tuple[list[FannedOut], set[str]]:
            waiting = store.events.waiting(100)
            decided = [fanned(event, *subscribers, lane_key=f"k{number % 3}") for event in waiting]
            return decided, store.events.fan_out(decided, after(number))

        answers = at_once(decide)
        taken = [event_id for _, ids_taken in answers for event_id in ids_taken]
        assert sorted(taken) == event_ids(events)
        written = [one for decided, mine in answers for one in decided if one.event_id in mine]
        assert sorted(ids(store.runs.list(Filter(None)))) == sorted(run_ids(*written))
        assert {match for event in events for match in ledger(store, event)} == {
            m for one in written for m in one.matches
        }
        assert store.events.waiting(9) == []

    # A later run for an event

    def test_a_later_run_takes_its_entry_in_the_ledger(self, store: Store) -> None:
        """C8: a replay is a new run of the same event, for the same receiver."""
        (event,) = emitted(store, fact())
        first, second, third = sorted(new_id() for _ in range(3))
        missed = Match(event.id, second, MatchOutcome.DISABLED, after(0), None, "it was disabled")
        decided = fanned(event, first)
        store.events.fan_out([decided._replace(matches=(*decided.matches, missed))], START)
        (run,) = claim(store)
        store.runs.apply([state.fail(run, after(1), error="E", reason="error", keep=KEEP.other)])
        again = fanned(event, first, second, third, at=5, lane_key="new")
        befores = (run.id, None, None)
        matched = [Rematch(*parts) for parts in zip(again.runs, again.matches, befores, strict=True)]
        assert store.events.rematch(matched) == set(run_ids(again))
        since = (after(0), after(0), after(5))  # when it matched, and not when it was tried again
        pairs = zip(again.matches, since, strict=True)
        assert ledger(store, event) == [msgspec.structs.replace(match, created_at=then) for match, then in pairs]
        assert sorted(ids(claim(store, at=5))) == sorted(run_ids(again))
        assert find(store, run).status is Status.FAILED

    def test_a_single_later_run(self, store: Store) -> None:
        (event,) = emitted(store, fact())
        settle(store, event)
        again = fanned(event, new_id())
        matched = [Rematch(again.runs[0], again.matches[0])]
        assert store.events.rematch(matched) == set(run_ids(again))
        assert store.events.rematch([]) == set()
        assert ids(claim(store)) == run_ids(again)
        assert ledger(store, event) == list(again.matches)

    def test_an_entry_without_a_run(self, store: Store) -> None:
        """C8: that an endpoint was disabled when a trigger sent to all of them; a replay replaces it later."""
        (event,) = emitted(store, fact())
        settle(store, event)
        receiver, other = sorted(new_id() for _ in range(2))
        missed = Match(event.id, receiver, MatchOutcome.DISABLED, after(0), None, "it was disabled")
        sent = fanned(event, other)
        assert store.events.rematch([Rematch(None, missed), Rematch(sent.runs[0], sent.matches[0])]) == set(
            run_ids(sent)
        )
        assert ledger(store, event) == [missed, *sent.matches]
        again = Match(event.id, other, MatchOutcome.DISABLED, after(1), None, "it was disabled")
        assert store.events.rematch([Rematch(None, again)]) == set()  # it has a run, which stays
        replayed = fanned(event, receiver)
        assert store.events.rematch([Rematch(replayed.runs[0], replayed.matches[0])]) == set(run_ids(replayed))
        assert [match.run for match in ledger(store, event)] == [*run_ids(replayed), *run_ids(sent)]

    def test_of_two_later_runs_one_takes_the_entry(self, store: Store) -> None:
        """Two replays at the same moment send once."""
        (event,) = emitted(store, fact())
        receiver = new_id()
        store.events.fan_out([fanned(event, receiver)], START)
        (first,) = claim(store)
        store.runs.apply([state.fail(first, after(1), error="E", reason="error", keep=KEEP.other)])

        def replay(number: int) -> set[str]:
            again = fanned(event, receiver, at=number)
            return store.events.rematch([Rematch(again.runs[0], again.matches[0], first.id)])

        made = [run_id for answer in at_once(replay) for run_id in answer]
        assert len(made) == 1
        assert ids(claim(store, at=60)) == made
        assert [match.run for match in ledger(store, event)] == made

    # Reading the ledger

    def test_the_ledger_has_pages(self, store: Store) -> None:
        events = emitted(store, *[fact() for _ in range(5)])
        subscribers = sorted(new_id() for _ in range(5))
        store.events.fan_out([fanned(event, *subscribers) for event in events], START)

        def of_event(after: str | None) -> list[str]:
            return [match.subscriber for match in store.events.matches(events[2].id, after=after, limit=3)]

        def of_subscriber(before: str | None) -> list[str]:
            return [match.event for match in store.events.matches_of_subscriber(subscribers[2], before=before, limit=3)]

        assert of_event(None) + of_event(subscribers[2]) == subscribers
        assert of_event(subscribers[4]) == []
        newest_first = list(reversed(event_ids(events)))
        assert of_subscriber(None) + of_subscriber(newest_first[2]) == newest_first
        assert of_subscriber(newest_first[4]) == []

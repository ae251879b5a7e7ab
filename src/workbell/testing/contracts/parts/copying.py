"""Contract of export and load: a copy of everything in a store."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from workbell.model import state
from workbell.model.event import FannedOut
from workbell.model.ids import new_id
from workbell.model.log_line import LogLine
from workbell.model.run import Added
from workbell.model.run_defaults import RunDefaults
from workbell.model.schedule import Schedule, ScheduleKind, Tick, TickOutcome
from workbell.stores.notifications.notifications import ReadMark
from workbell.stores.port import Store
from workbell.stores.store_page import StorePage
from workbell.testing.contracts.core.reading import job
from workbell.testing.contracts.core.scheduling import FULL, fire, schedule, stored
from workbell.testing.contracts.core.scheduling import tick as tick_of
from workbell.testing.contracts.making import KEEP, START, add, after, claim, held, ids, request
from workbell.testing.contracts.parts.access import entry, full_entry, full_token, tenant, token
from workbell.testing.contracts.parts.agents import agent, full_agent
from workbell.testing.contracts.parts.defining import definition
from workbell.testing.contracts.parts.events import emitted, fact, settle
from workbell.testing.contracts.parts.fanning import fanned, run_ids
from workbell.testing.contracts.parts.people import message
from workbell.testing.contracts.parts.subscribing import endpoint, full_endpoint, full_trigger, trigger
from workbell.testing.contracts.parts.tallies import tally
from workbell.testing.sqlite_files import SqliteFiles


def everything(store: Store) -> dict[str, set[Any]]:
    """The whole content, whatever the pages and their order."""
    found: dict[str, list[Any]] = {name: [] for name in StorePage._fields}
    for batch in store.export():
        for name in StorePage._fields:
            found[name] += getattr(batch, name)
    assert all(len(set(map(repr, values))) == len(values) for values in found.values()), "something came twice"
    return {name: set(map(repr, values)) for name, values in found.items()}


def take_over(store: Store, batches: Iterable[StorePage]) -> None:
    for batch in list(batches):
        store.load(batch)


def fill(store: Store) -> None:
    """Something of everything: every status, attempts, log lines, keys, jobs, a paused lane, schedules with ticks,
    events with what they matched, triggers, endpoints and how deliveries to them go, and what the service keeps."""
    store.jobs.put([job("send", tenant="b"), job("work", queue="mail", timeout=2.5)])
    add(store, *[request(tag=f"t{n}", input_text=f'{{"n":{n}}}') for n in range(4)])
    done, failed, retried, running = claim(store)
    store.runs.apply([state.succeed(done, after(1), result='{"a":"\'"}', keep=KEEP.succeeded)])
    store.runs.apply([state.fail(failed, after(1), error="E: e", reason="error", keep=KEEP.other)])
    store.runs.apply(
        [state.retry(retried, after(1), error="E", reason="error", wait=timedelta(60), started_at=after(0), result="1")]
    )
    store.runs.set_progress(held(running), '{"done":1}')
    store.runs.mark_alone(held(running))
    store.logs.add([(running.token, LogLine(running.id, 1, n, after(n), "INFO", "it's on")) for n in range(3)])
    store.logs.add([(done.token, LogLine(done.id, 1, 0, after(1), "ERROR", "failed"))])
    store.runs.request_cancel(running.id, "enough")
    waiting = [request(key="live", priority=3), request(key="span", key_for=60, delay=5), request("send", tenant="b")]
    add(store, *waiting, request(target="machine", expires_at=after(99), accepted_by="host/1/1", event=new_id()))
    store.pauses.add("b", None, "send", after(3))
    nightly = Schedule(
        id=new_id(),
        name="nightly",
        job="work",
        kind=ScheduleKind.CRON,
        expression="0 3 * * *",
        timezone="Europe/Paris",
        created_at=START,
        updated_at=START,
        next_run_at=after(60),
    )
    ticks = [
        Tick(schedule=nightly.id, due=after(n), outcome=TickOutcome.FIRED, created_at=START, run=new_id())
        for n in (1, 2)
    ]
    store.load(StorePage(schedules=[nightly], ticks=ticks))
    fill_events(store)
    fill_service(store)


def fill_service(store: Store) -> None:
    """Tokens that are valid and not, notifications that were read and not, and more; two of each."""
    for one in (token(expires_at=after(60)), full_token()):
        store.tokens.add(one)
    for name in ("b", "acme"):
        store.tenants.put(tenant(name, weight=2, rate="10/s"))
    store.audit.add([entry(), full_entry()])
    store.notifications.add([message(7), message(tenant="b")])
    store.notifications.mark_read("default", 7, None, after(1))
    store.notifications.mark_read("b", 8, None, after(2))
    for other in (agent("a"), full_agent("b")):
        store.agents.put(other)
    store.tallies.add([tally()])


def fill_events(store: Store) -> None:
    """One event waits, one has nobody, one has a trigger and an endpoint; none of them makes a run here."""
    _waiting, nobodys, matched = emitted(
        store, fact(key="k", data_text='{"a":"\'"}', subject="s"), fact(tenant="b", depth=2, cause=new_id()), fact()
    )
    named, sent = full_trigger(), full_endpoint()
    for one in (named, trigger()):
        store.subscribers.write_trigger(one, None)
    for other in (sent, endpoint()):
        store.subscribers.write_endpoint(other, None)
        store.subscribers.note_delivery(other.id, False, after(1))
    store.subscribers.note_delivery(sent.id, True, after(2))
    matches = fanned(matched, named.id, sent.id).matches
    store.events.fan_out([FannedOut(nobodys.id), FannedOut(matched.id, matches)], after(3))


class CopyingContract:
    @pytest.fixture
    def other(self, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
        """A store of ours, to copy from and to."""
        folder = tmp_path_factory.mktemp("other")
        store = SqliteFiles(folder).open(folder / "other.db")
        yield store
        store.close()
        shutil.rmtree(folder, ignore_errors=True)

    def test_an_empty_store_exports_nothing(self, store: Store) -> None:
        assert not any(everything(store).values())

    def test_everything_is_exported(self, store: Store) -> None:
        """F7."""
        fill(store)
        found = everything(store)
        sizes = {name: len(values) for name, values in found.items()}
        expected = {"lanes": 3, "pauses": 1, "jobs": 2, "schedules": 1, "ticks": 2, "runs": 8, "attempts": 1, "logs": 4}
        expected |= {"keys": 2, "events": 3, "matches": 2, "triggers": 2, "endpoints": 2, "health": 2}
        expected |= {"tokens": 2, "tenants": 2, "audit": 2, "notifications": 2, "reads": 2, "agents": 2, "tallies": 2}
        assert sizes == expected

    def test_what_is_loaded_is_exported_again(self, store: Store, other: Store) -> None:
        fill(other)
        take_over(store, other.export())
        assert everything(store) == everything(other)

    def test_what_is_exported_can_be_loaded(self, store: Store, other: Store) -> None:
        fill(store)
        take_over(other, store.export())
        assert everything(other) == everything(store)

    def test_definitions_come_along_with_their_ids(self, store: Store, other: Store) -> None:
        """D2, F7: and whoever has cached those of the other store reads again."""
        made = definition(options=RunDefaults(tag="t"), version=4)
        other.definitions.write(made, None)
        before = store.definitions.version()
        take_over(store, other.export())
        assert store.definitions.list() == [made]
        assert store.definitions.version() != before

    def test_loading_twice_changes_nothing(self, store: Store, other: Store) -> None:
        fill(other)
        take_over(store, other.export())
        (moved,) = claim(store, 1, at=7)
        take_over(store, other.export())
        assert store.runs.find([moved.id]) == {moved.id: moved}
        assert {name: len(values) for name, values in everything(store).items()} == {
            name: len(values) for name, values in everything(other).items()
        }

    def test_a_loaded_store_goes_on_working(self, store: Store, other: Store) -> None:
        fill(other)
        take_over(store, other.export())
        expected, got = claim(other, at=7), claim(store, at=7)
        assert len({run.token for run in (*expected, *got)}) == 2, "each claim has a token of its own"
        assert got == [msgspec.structs.replace(run, token=got[0].token) for run in expected]
        assert [answer.created for answer in store.runs.add([request(key="live", at=7)])] == [False]
        (lapsed,) = store.runs.take_over(store.runs.leases(after(31)), 10)
        assert (lapsed.alone, lapsed.cancel_requested, lapsed.progress) == (True, True, {"done": 1})
        (waiting,) = store.events.waiting(9)
        assert store.events.add([fact(key="k")]) == [Added(waiting.id, False)]
        settle(store, waiting)

    def test_of_a_run_that_ended_meanwhile_the_end_is_kept(self, store: Store, other: Store) -> None:
        """A copy is taken page by page while work goes on: a run may come live, and again as finished."""
        add(other, request())
        (run,) = claim(other)
        live = list(other.export())
        other.runs.apply([state.succeed(run, after(1), result="1", keep=KEEP.succeeded)])
        for batches in (live, other.export(), live):
            take_over(store, batches)
        assert everything(store)["runs"] == everything(other)["runs"]

    def test_of_an_event_that_was_fanned_out_meanwhile_that_is_kept(self, store: Store, other: Store) -> None:
        """Else the new store would do it as well, and what follows from the event would be there twice."""
        matched, nobodys, later = emitted(other, fact(), fact(), fact())
        early = list(other.export())
        decided = fanned(matched, new_id(), at=3)
        other.events.fan_out([decided, FannedOut(nobodys.id)], after(3))
        for batches in (early, other.export(), early):
            take_over(store, batches)
        assert everything(store) == everything(other)
        assert [event.id for event in store.events.waiting(9)] == [later.id]
        assert ids(claim(store)) == run_ids(decided)

    def test_events_come_after_what_follows_from_them(self, store: Store) -> None:
        """An event that still waits has no runs in the copy, also if it is fanned out while the copy is taken."""
        fill(store)
        batches = list(store.export())
        numbers = {name: [n for n, batch in enumerate(batches) if getattr(batch, name)] for name in StorePage._fields}
        assert max(numbers["matches"] + numbers["runs"]) <= min(numbers["events"])

    def test_a_match_says_that_its_event_was_fanned_out(self, store: Store) -> None:
        """Pages may come one by one, and none after it."""
        (event,) = emitted(store, fact())
        matches = fanned(event, new_id()).matches
        store.load(StorePage(matches=matches))
        store.load(StorePage(matches=matches))
        assert store.events.waiting(9) == []
        assert store.events.matches(event.id, after=None, limit=9) == list(matches)

    def test_subscribers_that_come_with_a_copy_are_noticed(self, store: Store) -> None:
        """What is there already stays: a trigger of the same name, or the same one after a change."""
        old, mine = trigger("old"), trigger("taken")
        for one in (old, mine):
            store.subscribers.write_trigger(one, None)
        store.subscribers.write_trigger(msgspec.structs.replace(old, name="new"), 0)
        before, sent = store.subscribers.version(), endpoint()
        store.load(StorePage(triggers=[old, trigger("taken"), trigger("more")], endpoints=[sent]))
        assert store.subscribers.version() != before
        assert [one.name for one in store.subscribers.list_triggers()] == ["more", "new", "taken"]
        assert store.subscribers.list_triggers()[2] == mine
        assert store.subscribers.list_endpoints() == [sent]

    def test_what_the_service_has_already_stays(self, store: Store) -> None:
        """Also where another one has its name or hash; a mark comes only with what was read."""
        mine, named, notification = full_token(), agent("a"), message(7)
        store.tokens.add(mine)
        store.agents.put(named)
        store.notifications.add([notification])
        store.notifications.mark_read("default", 7, None, after(1))
        store.tallies.add([tally()])
        before = everything(store)
        mark = ReadMark("default", 7, notification.id, after(9))
        store.load(
            StorePage(
                tokens=[token(hash=mine.hash), msgspec.structs.replace(mine, hash="another", name="x")],
                notifications=[msgspec.structs.replace(notification, text="1", read_at=after(3))],
                reads=[mark, mark._replace(notification=new_id()), mark._replace(tenant="b", user_id=8)],
                agents=[agent("a"), msgspec.structs.replace(named, name="b")],
                tallies=[tally(count=99)],
            )
        )
        assert everything(store) == before

    def test_an_export_has_pages(self, store: Store) -> None:
        store.runs.add([request() for _ in range(2100)])
        assert len(everything(store)["runs"]) == 2100

    def test_events_and_matches_have_pages_too(self, store: Store) -> None:
        events = emitted(store, *[fact() for _ in range(1002)])
        subscribers = [new_id(), new_id()]
        store.events.fan_out([FannedOut(event.id, fanned(event, *subscribers).matches) for event in events], after(1))
        sizes = {name: len(values) for name, values in everything(store).items() if values}
        assert sizes == {"events": 1002, "matches": 2004}

    def test_what_the_service_keeps_has_pages_too(self, store: Store) -> None:
        sent = [message() for _ in range(1001)]
        tallies = [tally(job=f"j{number}") for number in range(501)]
        store.load(StorePage(audit=[entry() for _ in range(1001)], notifications=sent))
        store.notifications.mark_read("default", 7, None, after(1))
        store.notifications.mark_read("default", 8, [sent[0].id], after(1))
        store.tallies.add(tallies)
        sizes = {name: len(values) for name, values in everything(store).items() if values}
        assert sizes == {"audit": 1001, "notifications": 1001, "reads": 1002, "tallies": 1002}

    def test_a_page_may_have_many_of_each_kind(self, store: Store) -> None:
        """Also where one transaction takes few statements."""
        names = [f"n{number:02}" for number in range(45)]
        page = StorePage(
            jobs=[job(name) for name in names],
            schedules=[schedule(name) for name in names],
            triggers=[trigger(name) for name in names],
            endpoints=[endpoint() for _ in names],
            tokens=[token(name=name, hash=name) for name in names],
            tenants=[tenant(name) for name in names],
            agents=[agent(name) for name in names],
        )
        store.load(page)
        sizes = {name: len(values) for name, values in everything(store).items() if values}
        assert sizes == {name: 45 for name in StorePage._fields if getattr(page, name)}

    def test_a_copy_of_schedules_has_every_column_and_goes_on(self, store: Store) -> None:
        """F7."""
        full = schedule("full", **FULL, last_run_status="failed", last_run_ended_at=after(6), failed_runs=3)
        plain = schedule("plain")
        span = tick_of(full, 1, outcome=TickOutcome.COALESCED, until=after(4), count=4, run=new_id(), reason="r")
        store.load(StorePage(schedules=[full, plain], ticks=[span]))
        store.load(
            StorePage(
                schedules=[msgspec.structs.replace(full, job="older")], ticks=[msgspec.structs.replace(span, count=9)]
            )
        )
        exported = list(store.export())
        every = [one for batch in exported for one in batch.schedules]
        assert sorted(every, key=lambda one: one.name) == [full, plain]
        assert [one for batch in exported for one in batch.ticks] == [span]
        assert store.schedules.write([fire(full, 9)]) == {full.id}
        now = stored(store, full)
        assert (now.version, now.failed_runs, now.last_run_status) == (8, 3, "failed")

"""Contract of subscribers: triggers and endpoints. Changes are compare-and-set, and change a number for caches."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import msgspec

from workbell.model.endpoint import Endpoint, Health, SealedSecret
from workbell.model.ids import new_id
from workbell.model.retry import Retry
from workbell.model.run_defaults import RunDefaults
from workbell.model.trigger import Trigger
from workbell.stores.port import Store
from workbell.testing.contracts.core.sharing import THREADS, at_once
from workbell.testing.contracts.core.texts import NASTY
from workbell.testing.contracts.making import START, after

replace = msgspec.structs.replace


def trigger(name: str = "welcome", **fields: Any) -> Trigger:
    given = {"id": new_id(), "name": name, "pattern": "users.created", "job": "send"}
    return Trigger(**({"created_at": START, "updated_at": START} | given | fields))


def endpoint(**fields: Any) -> Endpoint:
    given = {"id": new_id(), "url": "https://example.org/hook", "patterns": ("posts.*",)}
    return Endpoint(**({"created_at": START, "updated_at": START} | given | fields))


def full_trigger() -> Trigger:
    return trigger(
        tenant="acme",
        description="says hello",
        enabled=False,
        retry=Retry(attempts=5, delay=0.5, factor=3.0, cap=90.0, jitter=0.0),
        source="code:app",
        declared_at=after(1.5),
        updated_at=after(2),
        options=RunDefaults(tag="t", priority=0, user_id="ada", persistent=False, expires=1.5, queue="q"),
    )


def full_endpoint() -> Endpoint:
    return endpoint(
        tenant="acme",
        description="the shop's",
        patterns=("posts.*", "users.**", "job.failed"),
        headers_text='{"X-Key":"é"}',
        secrets=(SealedSecret("whsec_old", START, after(60)), SealedSecret("whsec_new", after(1.5))),
        enabled=False,
        reason="it answered 410",
        disabled_at=after(3),
        retry=Retry(attempts=9),
        rate="10/s",
        concurrency=4,
        timeout=2.5,
        updated_at=after(4),
    )


def changed(store: Store, change: Callable[[], object]) -> bool:
    """Whether caches of triggers and endpoints see that there is something new."""
    before = store.subscribers.version()
    change()
    return store.subscribers.version() != before


class SubscribingContract:
    # Triggers

    def test_a_trigger_is_listed_as_it_was_made(self, store: Store) -> None:
        """C1, C6."""
        made = [trigger(), full_trigger()]
        assert [store.subscribers.write_trigger(one, None) for one in made] == [True, True]
        assert store.subscribers.list_triggers() == [made[1], made[0]]
        assert store.subscribers.list_triggers("acme") == [made[1]]
        assert store.subscribers.list_triggers("nobody") == []

    def test_triggers_are_listed_by_name(self, store: Store) -> None:
        names = ["b", "a", "B", "a b", "ä", "_"]
        for name in names:
            assert store.subscribers.write_trigger(trigger(name), None)
        assert [one.name for one in store.subscribers.list_triggers("default")] == sorted(names)
        assert [one.name for one in store.subscribers.list_triggers()] == sorted(names)

    def test_a_name_is_taken_once_in_a_tenant(self, store: Store) -> None:
        first, other = trigger("a"), trigger("b")
        assert store.subscribers.write_trigger(first, None)
        assert not store.subscribers.write_trigger(trigger("a", pattern="other"), None)
        assert not store.subscribers.write_trigger(first, None)
        assert store.subscribers.write_trigger(trigger("a", tenant="b"), None)
        assert store.subscribers.write_trigger(other, None)
        assert not store.subscribers.write_trigger(replace(other, name="a"), 0)
        assert store.subscribers.write_trigger(replace(other, name="c"), 0)
        assert store.subscribers.list_triggers("default") == [first, replace(other, name="c", version=1)]

    def test_a_trigger_changes_only_from_the_version_it_has(self, store: Store) -> None:
        made = trigger()
        store.subscribers.write_trigger(made, None)
        new = replace(full_trigger(), id=made.id, tenant="default")
        assert store.subscribers.write_trigger(new, 0)
        assert not store.subscribers.write_trigger(replace(new, pattern="other"), 0)
        assert store.subscribers.list_triggers() == [replace(new, version=1)]
        assert store.subscribers.write_trigger(replace(new, enabled=True), 1)
        assert not store.subscribers.write_trigger(trigger("unknown"), 0)
        assert store.subscribers.list_triggers() == [replace(new, enabled=True, version=2)]

    def test_one_change_at_once_wins(self, store: Store) -> None:
        made = trigger()
        assert sum(at_once(lambda number: store.subscribers.write_trigger(replace(made, id=new_id()), None))) == 1
        (known,) = store.subscribers.list_triggers()
        before = store.subscribers.version()
        wins = at_once(lambda number: store.subscribers.write_trigger(replace(known, description=f"by {number}"), 0))
        assert sum(wins) == 1
        assert [one.description for one in store.subscribers.list_triggers()] == [f"by {wins.index(True)}"]
        assert store.subscribers.version() != before

    def test_a_trigger_can_be_deleted(self, store: Store) -> None:
        first, other = trigger("a"), trigger("b")
        for one in (first, other):
            store.subscribers.write_trigger(one, None)
        assert not store.subscribers.delete_trigger(first.id, first.version + 1)
        assert store.subscribers.delete_trigger(first.id, first.version)
        assert not store.subscribers.delete_trigger(first.id)
        assert not store.subscribers.write_trigger(first, 0)
        assert store.subscribers.list_triggers() == [other]
        assert store.subscribers.write_trigger(trigger("a"), None)

    def test_that_code_still_wants_a_trigger_is_no_change(self, store: Store) -> None:
        """Every process that starts declares it: that must neither disturb edits nor have all triggers read again."""
        first, other = trigger("a"), trigger("b", declared_at=after(1))
        for one in (first, other):
            store.subscribers.write_trigger(one, None)
        assert not changed(store, lambda: store.subscribers.declare_triggers([first.id, new_id()], after(7)))
        assert not changed(store, lambda: store.subscribers.declare_triggers([], after(8)))
        assert store.subscribers.list_triggers() == [replace(first, declared_at=after(7)), other]
        assert store.subscribers.write_trigger(first, 0)

    # Endpoints

    def test_an_endpoint_is_listed_as_it_was_made(self, store: Store) -> None:
        """C8: patterns, headers and secrets included."""
        made = [endpoint(), full_endpoint()]
        assert [store.subscribers.write_endpoint(one, None) for one in made] == [True, True]
        assert store.subscribers.list_endpoints() == made
        assert store.subscribers.list_endpoints("acme") == [made[1]]
        assert store.subscribers.list_endpoints("nobody") == []

    def test_an_endpoint_changes_only_from_the_version_it_has(self, store: Store) -> None:
        made = endpoint()
        store.subscribers.write_endpoint(made, None)
        assert not store.subscribers.write_endpoint(made, None)
        new = replace(full_endpoint(), id=made.id)
        assert store.subscribers.write_endpoint(new, 0)
        assert not store.subscribers.write_endpoint(replace(new, url="https://other"), 0)
        assert not store.subscribers.write_endpoint(endpoint(), 0)
        assert store.subscribers.list_endpoints() == [replace(new, version=1)]

    def test_an_endpoint_can_be_deleted(self, store: Store) -> None:
        """And how its deliveries went is forgotten."""
        first, other = endpoint(), endpoint()
        for one in (first, other):
            store.subscribers.write_endpoint(one, None)
            store.subscribers.note_delivery(one.id, False, after(1))
        assert store.subscribers.delete_endpoint(first.id)
        assert not store.subscribers.delete_endpoint(first.id)
        assert store.subscribers.list_endpoints() == [other]
        assert [store.subscribers.find_health(one.id).failures for one in (first, other)] == [0, 1]

    def test_triggers_and_endpoints_keep_their_texts(self, store: Store) -> None:
        for number, text in enumerate(NASTY.values()):
            named = trigger(f"{number}{text[:99]}", description=text, source=text, job=text[:99])
            sent = endpoint(description=text, headers_text=text, patterns=(text,), secrets=(SealedSecret(text, START),))
            assert store.subscribers.write_trigger(named, None)
            assert store.subscribers.write_endpoint(sent, None)
            assert store.subscribers.write_trigger(replace(named, description=text + "."), 0)
            assert named.name in [one.name for one in store.subscribers.list_triggers()]
            assert store.subscribers.list_endpoints()[-1] == sent

    # The number

    def test_every_change_has_another_number(self, store: Store) -> None:
        """One that comes to nothing may have one too: then they are read once in vain."""
        made, sent = trigger(), endpoint()
        assert changed(store, lambda: store.subscribers.write_trigger(made, None))
        assert changed(store, lambda: store.subscribers.write_trigger(made, 0))
        assert changed(store, lambda: store.subscribers.write_endpoint(sent, None))
        assert changed(store, lambda: store.subscribers.write_endpoint(sent, 0))
        assert not changed(store, lambda: store.subscribers.note_delivery(sent.id, True, START))
        assert changed(store, lambda: store.subscribers.delete_trigger(made.id))
        assert changed(store, lambda: store.subscribers.delete_endpoint(sent.id))

    # How deliveries go

    def test_failures_in_a_row_are_counted(self, store: Store) -> None:
        """And since when; a success ends the row."""
        sent = new_id()
        assert store.subscribers.find_health(sent) == Health(sent)
        assert store.subscribers.note_delivery(sent, False, after(1)) == Health(sent, 1, after(1), None, after(1))
        assert store.subscribers.note_delivery(sent, False, after(5)) == Health(sent, 2, after(1), None, after(5))
        assert store.subscribers.note_delivery(sent, True, after(7)) == Health(sent, 0, None, after(7), after(5))
        assert store.subscribers.note_delivery(sent, True, after(8)) == Health(sent, 0, None, after(8), after(5))
        again = Health(sent, 1, after(9), after(8), after(9))
        assert store.subscribers.note_delivery(sent, False, after(9)) == again
        assert store.subscribers.find_health(sent) == again
        assert store.subscribers.find_health(new_id()).failures == 0
        store.subscribers.forget_health(sent)
        assert store.subscribers.find_health(sent) == Health(sent)

    def test_health_may_begin_with_a_success(self, store: Store) -> None:
        sent = new_id()
        then = START + timedelta(microseconds=123_457)
        assert store.subscribers.note_delivery(sent, True, then) == Health(sent, 0, None, then, None)
        assert store.subscribers.find_health(sent) == Health(sent, 0, None, then, None)

    def test_those_that_keep_failing_are_found(self, store: Store) -> None:
        well, badly, better = new_id(), new_id(), new_id()
        for number in range(3):
            store.subscribers.note_delivery(well, True, after(number))
            store.subscribers.note_delivery(badly, False, after(number))
            store.subscribers.note_delivery(better, number == 2, after(number))
        assert store.subscribers.failing_endpoints(3) == [badly]
        assert store.subscribers.failing_endpoints(4) == []

    def test_failures_at_once_are_all_counted(self, store: Store) -> None:
        sent = new_id()
        counted = at_once(lambda number: store.subscribers.note_delivery(sent, False, after(number)).failures)
        assert sorted(counted) == list(range(1, THREADS + 1))
        assert store.subscribers.find_health(sent).failures == THREADS

"""Triggers that code declares (C1): put, changed, shared between processes, and retired when nobody wants them."""

from __future__ import annotations

import logging
from typing import Any

import msgspec
import pytest

from tests.support.fresh_store import fresh_store
from workbell import Retry
from workbell.errors import StoreError
from workbell.events.declared import DeclaredTriggers, Wanted, trigger_name
from workbell.model.clock import ManualClock
from workbell.model.ids import new_id
from workbell.model.trigger import Trigger
from workbell.stores.port import Store
from workbell.stores.sqlite.store import SqliteStore


@pytest.fixture
def store(clock: ManualClock) -> SqliteStore:
    return fresh_store(clock)


@pytest.fixture
def shop(store: SqliteStore) -> DeclaredTriggers:
    return DeclaredTriggers(store, "default", "shop")


def want(job: str, *patterns: str, source: str = "code:shop", **more: Any) -> list[Wanted]:
    return [Wanted(job, pattern, source, **more) for pattern in patterns]


def there(store: Store) -> dict[str, str]:
    return {trigger.name: trigger.pattern for trigger in store.subscribers.list_triggers("default")}


def by_hand(store: Store, name: str, pattern: str = "posts.*", job: str = "mail", **more: Any) -> Trigger:
    now = store.clock.now()
    trigger = Trigger(id=new_id(), name=name, pattern=pattern, job=job, created_at=now, updated_at=now, **more)
    assert store.subscribers.write_trigger(trigger, None)
    return trigger


class TestPutting:
    def test_a_new_one(self, store: SqliteStore, shop: DeclaredTriggers, clock: ManualClock) -> None:
        shop.put(want("mail", "posts.*", description="Mails.", retry=Retry(attempts=5)))
        (trigger,) = store.subscribers.list_triggers("default")
        assert (trigger.name, trigger.pattern, trigger.job) == ("mail", "posts.*", "mail")
        assert (trigger.description, trigger.retry) == ("Mails.", Retry(attempts=5))
        assert (trigger.source, trigger.declared_at, trigger.enabled) == ("code:shop", clock.now(), True)

    def test_again_only_the_time_changes(self, store: SqliteStore, shop: DeclaredTriggers, clock: ManualClock) -> None:
        shop.put(want("mail", "posts.*"))
        (before,), version = store.subscribers.list_triggers("default"), store.subscribers.version()
        clock.advance(60)
        shop.put(want("mail", "posts.*"))
        (after,) = store.subscribers.list_triggers("default")
        assert after == msgspec.structs.replace(before, declared_at=clock.now())
        assert store.subscribers.version() == version

    def test_what_the_code_says_now_counts_and_what_an_operator_said_stays(
        self, store: SqliteStore, shop: DeclaredTriggers, clock: ManualClock
    ) -> None:
        shop.put(want("mail", "posts.*"))
        (before,) = store.subscribers.list_triggers("default")
        store.subscribers.write_trigger(msgspec.structs.replace(before, enabled=False), before.version)
        clock.advance(60)
        shop.put(want("mail", "users.*", description="Mails.", retry=Retry(attempts=1)))
        (after,) = store.subscribers.list_triggers("default")
        assert (after.id, after.name, after.pattern) == (before.id, "mail", "users.*")
        assert (after.description, after.retry, after.enabled) == ("Mails.", Retry(attempts=1), False)
        assert (after.created_at, after.updated_at) == (before.created_at, clock.now())

    def test_somebody_else_was_faster(
        self, store: SqliteStore, shop: DeclaredTriggers, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        other, write = DeclaredTriggers(store, "default", "shop"), store.subscribers.write_trigger

        def late(trigger: Trigger, expected: int | None) -> bool:
            monkeypatch.setattr(store.subscribers, "write_trigger", write)
            other.put(want("mail", "posts.*"))
            return write(trigger, expected)

        monkeypatch.setattr(store.subscribers, "write_trigger", late)
        shop.put(want("mail", "posts.*", description="newer"))
        (trigger,) = store.subscribers.list_triggers("default")
        assert (trigger.description, trigger.version) == ("newer", 1)

    def test_there_is_an_end_to_trying(
        self, store: SqliteStore, shop: DeclaredTriggers, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(store.subscribers, "write_trigger", lambda trigger, expected: False)
        with pytest.raises(StoreError, match=r"^trigger mail: it changed again and again"):
            shop.put(want("mail", "posts.*"))


class TestSeveralPatterns:
    def test_each_has_a_trigger(self, store: SqliteStore, shop: DeclaredTriggers) -> None:
        shop.put(want("mail", "posts.*", "users.*", "*.deleted"))
        assert there(store) == {"mail": "posts.*", "mail:users.*": "users.*", "mail:*.deleted": "*.deleted"}

    @pytest.mark.parametrize(
        ("before", "after", "expected"),
        [
            (["a"], ["a", "b"], {"mail": "a", "mail:b": "b"}),
            (["a"], ["b", "a"], {"mail": "a", "mail:b": "b"}),
            (["a", "b"], ["b", "a"], {"mail": "a", "mail:b": "b"}),
            (["a", "b"], ["b"], {"mail": "a", "mail:b": "b"}),
            (["a", "b"], ["c", "b"], {"mail": "c", "mail:b": "b"}),
            (["a"], ["b", "c"], {"mail": "b", "mail:c": "c"}),
        ],
    )
    def test_no_pattern_ever_has_two(
        self,
        store: SqliteStore,
        shop: DeclaredTriggers,
        before: list[str],
        after: list[str],
        expected: dict[str, str],
    ) -> None:
        """An event must not start the same job twice, in the minutes until the old triggers are retired."""
        shop.put(want("mail", *before))
        shop.put(want("mail", *after))
        assert there(store) == expected

    def test_a_name_can_be_too_long(self, store: SqliteStore, shop: DeclaredTriggers) -> None:
        long = "a" * 150
        shop.put(want(long, "b" * 40, "b" * 100, "b" * 101))
        names = sorted(there(store), key=len)
        assert [len(name) for name in names] == [150, 200, 200]
        assert len(set(names)) == 3
        assert trigger_name(Wanted("mail", "posts.*", "code:shop")) == "mail:posts.*"


class TestOthers:
    def test_a_name_that_was_taken_by_hand(
        self, store: SqliteStore, shop: DeclaredTriggers, caplog: pytest.LogCaptureFixture
    ) -> None:
        mine = by_hand(store, "mail", "users.*", "other")
        shop.put(want("mail", "posts.*"))
        assert there(store) == {"mail": "users.*", "mail:posts.*": "posts.*"}
        assert mine in store.subscribers.list_triggers("default")
        by_hand(store, "note", job="other")
        by_hand(store, "note:posts.*", job="other")
        for _ in range(2):
            shop.put(want("note", "posts.*"))
        (line,) = caplog.messages
        assert line.startswith("job note: no trigger for posts.* could be made")

    def test_the_same_code_under_two_names_is_one_trigger(
        self, store: SqliteStore, shop: DeclaredTriggers, clock: ManualClock
    ) -> None:
        """A web server and a worker may be two projects by their names; an event starts one run all the same."""
        web = DeclaredTriggers(store, "default", "web")
        shop.put(want("mail", "posts.*"))
        clock.advance(60)
        web.put(want("mail", "posts.*", source="code:web"))
        (trigger,) = store.subscribers.list_triggers("default")
        assert (trigger.source, trigger.declared_at) == ("code:shop", clock.now())
        clock.advance(minutes=5)
        web.put(want("mail", "posts.*", source="code:web"))  # the other one has been silent: it is ours now
        (trigger,) = store.subscribers.list_triggers("default")
        assert (trigger.source, trigger.declared_at) == ("code:web", clock.now())

    def test_another_project_with_a_job_of_that_name(self, store: SqliteStore, shop: DeclaredTriggers) -> None:
        shop.put(want("mail", "posts.*"))
        DeclaredTriggers(store, "default", "web").put(want("mail", "users.*", source="code:web"))
        assert there(store) == {"mail": "posts.*", "mail:users.*": "users.*"}

    def test_other_tenants_are_left_alone(self, store: SqliteStore, shop: DeclaredTriggers, clock: ManualClock) -> None:
        other = DeclaredTriggers(store, "other", "shop")
        other.put(want("mail", "users.*"))
        clock.advance(hours=1)
        shop.put(want("mail", "posts.*"))
        shop.retire()
        assert [trigger.pattern for trigger in store.subscribers.list_triggers("other")] == ["users.*"]
        assert there(store) == {"mail": "posts.*"}


class TestRetiring:
    def test_what_nobody_declares_goes_after_ten_minutes(
        self, store: SqliteStore, shop: DeclaredTriggers, clock: ManualClock, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.INFO, "workbell.events")
        shop.put([*want("mail", "posts.*"), *want("note", "users.*")])
        for minute in range(10):
            shop.retire()
            assert set(there(store)) == {"mail", "note"}, minute
            clock.advance(60)
            shop.put(want("mail", "posts.*"))
        shop.retire()
        assert there(store) == {"mail": "posts.*"}
        (line,) = caplog.messages
        assert line == "trigger note for users.* is removed: no process has declared it for ten minutes"

    def test_an_older_process_removes_nothing_of_a_newer_one(
        self, store: SqliteStore, shop: DeclaredTriggers, clock: ManualClock
    ) -> None:
        newer = DeclaredTriggers(store, "default", "shop")
        for _ in range(15):
            newer.put([*want("mail", "posts.*"), *want("note", "users.*")])
            shop.put(want("mail", "posts.*"))
            shop.retire()
            clock.advance(60)
        assert set(there(store)) == {"mail", "note"}

    def test_who_is_back_first_removes_nothing(
        self, store: SqliteStore, shop: DeclaredTriggers, clock: ManualClock
    ) -> None:
        """One project, two programs, and nobody was there for an hour; or the store was not."""
        other = DeclaredTriggers(store, "default", "shop")
        other.put(want("note", "users.*"))
        (note,) = store.subscribers.list_triggers("default")
        store.subscribers.write_trigger(msgspec.structs.replace(note, enabled=False), note.version)
        for away in (0, 3600):
            clock.advance(away)
            shop.put(want("mail", "posts.*"))
            shop.retire()
            assert [one.enabled for one in store.subscribers.list_triggers("default")] == [True, False]
        for _ in range(9):
            clock.advance(60)
            shop.put(want("mail", "posts.*"), again=True)
            shop.retire()
        assert set(there(store)) == {"mail", "note"}
        clock.advance(60)
        shop.put(want("mail", "posts.*"), again=True)
        shop.retire()
        assert set(there(store)) == {"mail"}

    def test_two_versions_do_not_take_a_trigger_from_each_other(
        self, store: SqliteStore, shop: DeclaredTriggers, clock: ManualClock
    ) -> None:
        """During a deploy: else, of the events in between, half would miss what the newer code asks for."""
        newer = DeclaredTriggers(store, "default", "shop")
        shop.put(want("mail", "posts.created"))
        newer.put(want("mail", "posts.*"))
        for _ in range(5):
            clock.advance(60)
            shop.put(want("mail", "posts.created"), again=True)
            assert there(store) == {"mail": "posts.*"}
            newer.put(want("mail", "posts.*"), again=True)
        clock.advance(121)  # the newer one is gone
        shop.put(want("mail", "posts.created"), again=True)
        assert there(store) == {"mail": "posts.created"}

    def test_those_of_other_sources_stay(self, store: SqliteStore, shop: DeclaredTriggers, clock: ManualClock) -> None:
        by_hand(store, "hand")
        by_hand(store, "web", source="code:web", declared_at=clock.now())
        by_hand(store, "shop's", source="code:shopping", declared_at=clock.now())
        clock.advance(days=1)
        shop.retire()
        assert set(there(store)) == {"hand", "web", "shop's"}

    def test_of_a_file_that_is_broken(self, store: SqliteStore, shop: DeclaredTriggers, clock: ManualClock) -> None:
        shop.put([*want("mail", "posts.*", source="file:shop"), *want("note", "users.*", source="file:shop")])
        clock.advance(minutes=11)
        shop.hold({"mail"})
        shop.retire()
        assert set(there(store)) == {"mail"}


def test_dropping_takes_only_what_files_declared(store: SqliteStore, shop: DeclaredTriggers) -> None:
    shop.put([*want("mail", "posts.*", "users.*", source="file:shop"), *want("note", "posts.*")])
    by_hand(store, "hand", job="mail")
    shop.drop({("mail", "posts.*"), ("note", "posts.*"), ("none", "posts.*")})
    assert set(there(store)) == {"mail:users.*", "note", "hand"}

"""Telling people: stored first, posted then, read later with a mark of one's own (B5)."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from tests.support.fresh_store import fresh_store
from tests.support.inside.features import (
    Broadcast,
    Message,
    Notifications,
    Notifier,
    SendToUser,
    detached,
    notification_of,
)
from tests.support.inside.stores import Store
from tests.support.inside.values import Settings, new_id
from workbell import InvalidInput, InvalidOption, Workbell

PAIRS = [
    *((Notifier, verb, f"a{verb}") for verb in ("notify", "broadcast")),
    *((Notifications, verb, f"a{verb}") for verb in ("list", "mark_read")),
]


@pytest.fixture
def posted(bell: Workbell) -> list[Message]:
    """What was posted to those who hold people's connections."""
    heard: list[Message] = []
    bell.host.bus.on_message(heard.append)
    return heard


@pytest.mark.parametrize(("kind", "plain", "twin"), PAIRS)
def test_each_verb_and_its_twin_have_one_signature(kind: type, plain: str, twin: str) -> None:
    one, other = getattr(kind, plain), getattr(kind, twin)
    assert inspect.iscoroutinefunction(other)
    assert inspect.signature(one) == inspect.signature(other)


def test_one_person_is_told_and_the_others_are_not(bell: Workbell, posted: list[Message]) -> None:
    told = bell.notify(7, {"text": "ready"})
    assert (told.user_id, told.data, told.tenant) == (7, {"text": "ready"}, bell.tenant)
    assert bell.notifications.list(7) == [told]
    assert bell.notifications.list(8) == []
    assert posted == [SendToUser(bell.tenant, 7, told.text, told.id, told.created_at)]
    assert notification_of(posted[0]) == told


def test_everybody_is_told(bell: Workbell, posted: list[Message]) -> None:
    told = bell.broadcast("tea is served")
    assert bell.notifications.list(7) == bell.notifications.list(8) == [told]
    assert posted == [Broadcast(bell.tenant, told.text, told.id, told.created_at)]
    assert notification_of(posted[0]) == told


def test_it_is_stored_before_anybody_hears_of_it(bell: Workbell) -> None:
    found: list[Any] = []
    bell.host.bus.on_message(lambda _: found.append(bell.notifications.list(7)))
    told = bell.notify(7, 1)
    assert found == [[told]]


def test_one_that_cannot_be_posted_is_there_all_the_same(bell: Workbell) -> None:
    def broken(_message: Message) -> None:
        raise BrokenPipeError

    bell.runtime.hooks.post = broken
    told = bell.notify(7, 1)
    assert bell.notifications.list(7) == [told]


def test_the_verbs_of_another_tenant(bell: Workbell, posted: list[Message]) -> None:
    other = bell.for_tenant("other")
    told = other.notify(7, "hello")
    everybody = other.broadcast("all")
    assert bell.notifications.list(7) == []
    assert [one.id for one in other.notifications.list(7)] == [everybody.id, told.id]
    assert [one.tenant for one in posted] == ["other", "other"]


def test_each_person_has_marks_of_their_own(bell: Workbell) -> None:
    mine, all_of_us = bell.notify(7, 1), bell.broadcast(2)
    assert bell.notifications.mark_read(7, [all_of_us.id]) == 1
    assert [one.read_at is not None for one in bell.notifications.list(7)] == [True, False]
    assert [one.id for one in bell.notifications.list(7, unread=True)] == [mine.id]
    assert [one.id for one in bell.notifications.list(8, unread=True)] == [all_of_us.id]
    assert bell.notifications.mark_read(7) == 1
    assert bell.notifications.mark_read(7) == 0
    assert bell.notifications.list(7, unread=True) == []


def test_nobody_reads_for_somebody_else(bell: Workbell) -> None:
    mine = bell.notify(7, 1)
    assert bell.notifications.mark_read(8, [mine.id]) == 0
    assert bell.for_tenant("other").notifications.mark_read(7, [mine.id]) == 0
    assert bell.notifications.mark_read(7, [new_id(), "no id at all"]) == 0
    assert bell.notifications.list(7, unread=True) == [mine]


def test_pages(bell: Workbell) -> None:
    told = [bell.notify(7, number).id for number in range(5)][::-1]
    first = bell.notifications.list(7, limit=2)
    assert [one.id for one in first] == told[:2]
    assert [one.id for one in bell.notifications.list(7, before=first[-1].id)] == told[2:]


@pytest.mark.parametrize("user_id", [-1, True, "-7", None, 2**63])
def test_who_is_nobody(user_id: Any) -> None:
    with Workbell(store=fresh_store(), settings=Settings()) as bell:
        for call in (lambda: bell.notify(user_id, 1), lambda: bell.notifications.list(user_id)):
            with pytest.raises(InvalidOption, match=r"user_id: .* is neither a whole number from 0 nor a text"):
                call()


def test_what_cannot_be_told() -> None:
    with Workbell(store=fresh_store(), settings=Settings()) as bell:
        with pytest.raises(InvalidInput, match="notify: its data cannot be written as JSON"):
            bell.notify(7, object())
        with pytest.raises(InvalidInput, match=r"broadcast: its data is .* bytes"):
            bell.broadcast("x" * 300_000)
        with pytest.raises(InvalidOption, match="ids: give a list"):
            bell.notifications.mark_read(7, "abc")
        for limit in (0, 1001, True):
            with pytest.raises(InvalidOption, match=r"limit: .* is not from 1 to 1,000"):
                bell.notifications.list(7, limit=limit)
        with pytest.raises(InvalidOption, match="before: 'x' is not the id"):
            bell.notifications.list(7, before="x")


@pytest.mark.anyio
async def test_the_verbs_for_async_code_and_of_a_handler() -> None:
    with Workbell(store=fresh_store(), settings=Settings()) as bell:
        told = [await bell.anotify(7, 1), await bell.abroadcast(2)]
        context = detached("job", "default", bell._services)
        told += [context.notify(7, 3), context.broadcast(4), await context.anotify(7, 5), await context.abroadcast(6)]
        assert [one.data for one in told] == [1, 2, 3, 4, 5, 6]
        assert await bell.notifications.alist(7) == told[::-1]
        assert await bell.notifications.amark_read(7) == 6


def test_a_hint_is_given(store: Store) -> None:
    """Other processes hear of it without polling."""
    bell = Workbell(store=store, settings=Settings())
    watch = store.watch()
    try:
        bell.notify(7, 1)
        assert watch.wait(10)
    finally:
        watch.close()

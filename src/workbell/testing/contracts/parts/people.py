"""Contract of notifications: for one user, or all users of a tenant; each user has separate read marks."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from msgspec.structs import replace

from workbell.model.ids import new_id
from workbell.model.notification import Notification
from workbell.model.users import UserId
from workbell.stores.notifications.notifications import PAGE
from workbell.stores.port import Store
from workbell.testing.contracts.core.sharing import at_once
from workbell.testing.contracts.making import KEEP, START, after
from workbell.testing.contracts.parts.access import ODD

OVER = START + KEEP.events
ADA, BOB = 1, 2**53 + 1


def message(user_id: UserId | None = None, *, at: float = 0, tenant: str = "default", text: str = "{}") -> Notification:
    return Notification(new_id(), tenant, user_id, text, after(at))


def sent(store: Store, *new: Notification) -> list[Notification]:
    store.notifications.add(new)
    return list(new)


def listed(store: Store, user_id: UserId, tenant: str = "default", **wanted: Any) -> list[Notification]:
    return store.notifications.list(tenant, user_id, **({"unread": False, "before": None, "limit": 100} | wanted))


def unread(store: Store, user_id: UserId, **wanted: Any) -> list[str]:
    return [one.id for one in listed(store, user_id, unread=True, **wanted)]


class PeopleContract:
    def test_a_person_sees_their_own_and_everybodys(self, store: Store) -> None:
        """E7. Newest first, of one tenant."""
        own, everybodys, bobs, _elsewhere = sent(
            store, message(ADA, text=f'"{ODD}"'), message(at=1.5), message(BOB), message(ADA, tenant="acme")
        )
        store.notifications.add([])
        assert listed(store, ADA) == [everybodys, own]
        assert listed(store, BOB) == [bobs, everybodys]
        assert listed(store, 3) == [everybodys]
        assert listed(store, 3, "acme") == []

    def test_each_has_read_marks_of_their_own(self, store: Store) -> None:
        own, everybodys, later = sent(store, message(ADA), message(), message())
        assert store.notifications.mark_read("default", ADA, [own.id, everybodys.id], after(5)) == 2
        assert store.notifications.mark_read("default", ADA, [everybodys.id, later.id], after(6)) == 1
        assert store.notifications.mark_read("default", ADA, [], after(7)) == 0
        assert [one.read_at for one in listed(store, ADA)] == [after(6), after(5), after(5)]
        assert unread(store, ADA) == []
        assert listed(store, BOB) == [later, everybodys]
        assert unread(store, BOB) == [later.id, everybodys.id]

    def test_a_person_may_have_a_text_for_an_id(self, store: Store) -> None:
        own, everybodys, _other = sent(store, message("ada"), message(), message("bob"))
        assert listed(store, "ada") == [everybodys, own]
        assert own in store.notifications.new("00000000-0000-0000-0000-000000000000", 10)
        assert store.notifications.mark_read("default", "ada", None, after(5)) == 2
        assert (unread(store, "ada"), len(unread(store, "bob")), unread(store, 0)) == ([], 2, [everybodys.id])

    def test_nobody_marks_what_is_not_for_them(self, store: Store) -> None:
        bobs, elsewhere = sent(store, message(BOB), message(tenant="acme"))
        assert store.notifications.mark_read("default", ADA, [bobs.id, elsewhere.id, new_id()], after(5)) == 0
        assert store.notifications.mark_read("default", ADA, None, after(5)) == 0
        assert unread(store, BOB) == [bobs.id]
        assert unread(store, ADA, tenant="acme") == [elsewhere.id]

    def test_all_can_be_marked_at_once(self, store: Store) -> None:
        own, everybodys, _bobs = sent(store, message(ADA), message(), message(BOB))
        store.notifications.mark_read("default", ADA, [own.id], after(5))
        assert store.notifications.mark_read("default", ADA, None, after(6)) == 1
        assert store.notifications.mark_read("default", ADA, None, after(7)) == 0
        assert listed(store, ADA) == [replace(everybodys, read_at=after(6)), replace(own, read_at=after(5))]
        assert len(unread(store, BOB)) == 2

    def test_any_number_can_be_marked_at_once(self, store: Store) -> None:
        """In several writes."""
        sent(store, *(message(ADA) for _ in range(PAGE)), message())
        assert store.notifications.mark_read("default", ADA, None, after(6)) == PAGE + 1
        assert unread(store, ADA) == []

    def test_notifications_have_pages(self, store: Store) -> None:
        """Over both halves, and also of what is unread."""
        every = sent(store, *[message(user_id) for user_id in (ADA, None, None, ADA, ADA, None, BOB)])[:6]
        newest = [one.id for one in reversed(every)]
        assert [one.id for one in listed(store, ADA, limit=4)] == newest[:4]
        assert [one.id for one in listed(store, ADA, before=newest[3], limit=4)] == newest[4:]
        store.notifications.mark_read("default", ADA, [newest[0], newest[2], newest[4]], after(5))
        assert unread(store, ADA, limit=2) == [newest[1], newest[3]]
        assert unread(store, ADA, before=newest[3], limit=2) == [newest[5]]

    def test_who_passes_them_on_reads_forwards(self, store: Store) -> None:
        """Those of all tenants and people, without anybody's mark."""
        one, two, three = sent(store, message(ADA), message(tenant="acme"), message())
        store.notifications.mark_read("default", ADA, None, after(5))
        assert store.notifications.new(one.id, 9) == [two, three]
        assert store.notifications.new("00000000-0000-0000-0000-000000000000", 2) == [one, two]

    def test_the_same_one_twice_is_there_once(self, store: Store) -> None:
        """A write whose answer was lost may be repeated."""
        (one,) = sent(store, message(ADA))
        sent(store, one, message(BOB))
        assert listed(store, ADA) == [one]

    def test_of_many_marks_at_once_each_counts_once(self, store: Store) -> None:
        every = sent(store, *[message() for _ in range(20)])
        ids = [one.id for one in every]
        orders = [ids, ids[::-1], None]
        found = at_once(lambda number: store.notifications.mark_read("default", ADA, orders[number % 3], after(number)))
        assert sum(found) == len(every)
        assert unread(store, ADA) == []

    def test_new_ones_give_a_hint(self, store: Store) -> None:
        watch = store.watch()
        try:
            while watch.wait(0.02):  # what may have been pending, such as the watch's own beginning
                pass
            sent(store, message())
            assert watch.wait(20)
        finally:
            watch.close()

    def test_notifications_go_when_their_time_is_over(self, store: Store) -> None:
        """With their marks; the oldest first."""
        late, early, middle = sent(store, message(at=2), message(ADA, at=0), message(at=1))
        store.notifications.mark_read("default", ADA, [early.id, late.id], after(5))
        assert store.prune(OVER - timedelta(seconds=1), 9) == 0
        assert store.prune(OVER + timedelta(seconds=9), 1) == 1
        assert listed(store, ADA) == [middle, replace(late, read_at=after(5))]
        assert store.prune(OVER + timedelta(seconds=1), 9) == 1
        assert [mark for batch in store.export() for mark in batch.reads] == [("default", ADA, late.id, after(5))]

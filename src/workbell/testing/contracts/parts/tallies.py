"""Contract of tallies: ended runs, added up by minute and in all."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from msgspec.structs import replace

from workbell.model.clock import EPOCH
from workbell.model.tally import Tally
from workbell.stores.port import Store
from workbell.testing.contracts.core.sharing import THREADS, at_once
from workbell.testing.contracts.making import START, after

OVER = START + timedelta(days=14)


def tally(minute: int = 0, **fields: Any) -> Tally:
    key: dict[str, Any] = {
        "minute": after(60 * minute),
        "tenant": "default",
        "queue": "mail",
        "job": "send",
        "status": "succeeded",
    }
    return Tally(**(key | {"count": 2, "seconds": 1.5, "wait": 0.25, "buckets": (0, 2)} | fields))


def minutes(store: Store, tenant: str | None = None) -> list[Tally]:
    """Those by minute, without the totals."""
    every = (one for page in store.tallies.export() for one in page)
    return [one for one in every if one.minute != EPOCH and tenant in (None, one.tenant)]


class TalliesContract:
    def test_tallies_of_one_key_are_added_up(self, store: Store) -> None:
        """Also those that come together, and those with more buckets than before."""
        store.tallies.add([tally(), tally(count=1, seconds=0.5)])
        store.tallies.add([])
        store.tallies.add([tally(count=3, buckets=(1, 0, 2)), tally(1)])
        summed = tally(count=6, seconds=3.5, wait=0.75, buckets=(1, 4, 2))
        assert minutes(store) == [summed, tally(1)]
        total = replace(summed, minute=EPOCH, count=8, seconds=5.0, wait=1.0, buckets=(1, 6, 2))
        assert store.tallies.totals() == [total]

    def test_each_key_is_counted_for_itself(self, store: Store) -> None:
        changes: list[dict[str, Any]] = [{"tenant": "acme"}, {"queue": "x"}, {"job": "x"}, {"status": "failed"}]
        different = [tally(), *(tally(**change) for change in changes)]
        store.tallies.add(different)
        store.tallies.add([tally(status="failed", count=1)])
        assert sorted(one.count for one in minutes(store)) == [2, 2, 2, 2, 3]
        assert len(store.tallies.totals()) == 5
        assert minutes(store, "acme") == [tally(tenant="acme")]

    def test_many_add_at_once(self, store: Store) -> None:
        """In whatever order they come, nothing is lost."""
        tallies = [tally(minute, job=f"j{number}") for number in range(5) for minute in (0, 1)]

        def work(number: int) -> None:
            for _ in range(3):
                store.tallies.add(tallies if number % 2 else tallies[::-1])

        at_once(work)
        times = 3 * THREADS
        assert minutes(store) == sorted(
            (
                replace(p, count=2 * times, seconds=1.5 * times, wait=0.25 * times, buckets=(0, 2 * times))
                for p in tallies
            ),
            key=lambda one: (one.minute, one.job),
        )
        assert {one.count for one in store.tallies.totals()} == {4 * times}

    def test_old_minutes_go_and_the_totals_stay(self, store: Store) -> None:
        store.tallies.add([tally(minute, tenant=tenant) for minute in range(3) for tenant in ("default", "acme")])
        totals = store.tallies.totals()
        assert [one.count for one in totals] == [6, 6]
        assert store.prune(OVER - timedelta(seconds=1), 9) == 0
        assert store.prune(OVER + timedelta(minutes=1), 3) == 3
        assert store.prune(OVER + timedelta(minutes=1), 3) == 1
        assert minutes(store) == [tally(2, tenant="acme"), tally(2)]
        assert store.tallies.totals() == totals
        store.tallies.add([tally(0)])
        assert [one.count for one in store.tallies.totals()] == [6, 8]
        assert store.prune(OVER + timedelta(days=999), 9) == 3
        assert [one.count for one in store.tallies.totals()] == [6, 8]

"""retarget: the application's own Workbell on the store of a test, and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from workbell import Run, Status, Workbell
from workbell.testing import drain, inline, retarget


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Workbell]:
    """An application, with a store of its own."""
    with Workbell(f"sqlite:///{tmp_path / 'shop.db'}") as bell:
        bell.job(name="charge")(lambda: "charged")
        yield bell


def test_all_verbs_are_on_the_other_store(shop: Workbell, workbell_memory: Workbell) -> None:
    with retarget(shop, workbell_memory) as bell:
        assert bell is shop
        run = shop.enqueue("charge")
        other = shop.for_tenant("acme").enqueue("charge")
        assert [one.id for one in workbell_memory.runs()] == [run.id]
        assert {one.id for one in drain(shop)} == {run.id, other.id}
        assert shop.wait(run.id, timeout=30).result == "charged"  # by a thread that has its own way to the store
    assert shop.runs() == []


def test_tenants_from_before_are_on_the_other_store_too(shop: Workbell, workbell_memory: Workbell) -> None:
    acme = shop.for_tenant("acme")
    with retarget(shop, workbell_memory):
        run = acme.enqueue("charge")
        assert [one.id for one in drain(shop)] == [run.id]
    assert acme.runs() == []


def test_its_own_store_comes_back_after_an_error(shop: Workbell, workbell_memory: Workbell) -> None:
    before, publisher = shop.store, workbell_memory.store.publisher
    with pytest.raises(LookupError), retarget(shop, workbell_memory):
        raise LookupError
    assert shop.store is before
    assert workbell_memory.store.publisher is publisher


def test_runs_that_the_store_ends_itself_are_known_to_the_application(
    shop: Workbell, workbell_memory: Workbell
) -> None:
    ended = []
    with retarget(shop, workbell_memory):
        stop = shop.listen("run.canceled", lambda event: ended.append(event.run_id))
        first = shop.enqueue("charge", tag="orders", replace_tag=True)
        shop.enqueue("charge", tag="orders", replace_tag=True)
        stop()
    assert ended == [first.id]


def test_inline_is_taken_over(shop: Workbell, workbell_memory: Workbell) -> None:
    with inline(workbell_memory), retarget(shop, workbell_memory):
        assert shop.enqueue("charge").status is Status.SUCCEEDED
    with retarget(shop, workbell_memory):
        assert shop.enqueue("charge").status is Status.QUEUED


def test_the_queue_of_the_application_gets_no_ids(shop: Workbell, workbell_memory: Workbell) -> None:
    announced: list[str] = []

    def announce(runs: Iterable[Run]) -> bool:
        announced.extend(run.job for run in runs)
        return True

    shop.runtime.hooks.announce = announce
    with retarget(shop, workbell_memory):
        shop.enqueue("charge")
    assert announced == []
    shop.enqueue("charge")
    assert announced == ["charge"]

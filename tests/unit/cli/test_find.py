"""A thing is found by a part of its id: the only one that has it, or the only living worker among several."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from workbell.cli.find import find_worker
from workbell.errors import InvalidOption, WorkerNotFound


def bell(**workers: bool) -> Any:
    """Workers by the ends of their ids, and whether each is alive."""
    seen = [SimpleNamespace(worker=SimpleNamespace(id=f"box-1/{end}"), alive=alive) for end, alive in workers.items()]
    return SimpleNamespace(workers=lambda: seen)


def test_of_several_workers_the_living_one_is_meant() -> None:
    assert find_worker(bell(one=False, two=True), "box-1/") == "box-1/two"
    assert find_worker(bell(one=False, two=True), " box-1/one ") == "box-1/one", "the whole id names it, dead or not"
    assert find_worker(bell(one=False), "BOX-1/") == "box-1/one"


@pytest.mark.parametrize("alive", [True, False])
def test_several_that_are_alike_are_not_told_apart(alive: bool) -> None:
    with pytest.raises(InvalidOption, match="is a part of 2 ids, such as box-1/one, box-1/two; give more of it"):
        find_worker(bell(one=alive, two=alive), "box-1/")


@pytest.mark.parametrize("text", ["box-1", "box-2/one"])
def test_a_part_that_is_too_short_or_of_none(text: str) -> None:
    with pytest.raises(WorkerNotFound, match="at least 6 letters of it"):
        find_worker(bell(one=True), text)

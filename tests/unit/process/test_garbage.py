"""Collections of garbage are rare in a worker process, and as they were afterwards."""

from __future__ import annotations

import gc

from workbell.process.garbage import YOUNGEST, rare_collections


def test_thresholds_and_frozen_objects_are_put_back() -> None:
    before = gc.get_threshold()
    with rare_collections():
        assert gc.get_threshold() == (YOUNGEST, *before[1:])
        assert gc.get_freeze_count() > 0
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0


def test_garbage_of_handlers_is_still_collected() -> None:
    gone: list[str] = []

    class Part:
        def __init__(self) -> None:
            self.itself = self

        def __del__(self) -> None:
            gone.append("part")

    with rare_collections():
        Part()
        kept = [[] for _ in range(2 * YOUNGEST)]
        assert gone == ["part"]
    assert len(kept) == 2 * YOUNGEST

"""Settings of the interpreter in a worker process, and that they are as they were afterwards."""

from __future__ import annotations

import gc
import sys

import pytest

from workbell.process.interpreter import SWITCH, YOUNGEST, set_for_work


def test_all_is_put_back() -> None:
    before, switch = gc.get_threshold(), sys.getswitchinterval()
    with set_for_work():
        assert gc.get_threshold() == (YOUNGEST, *before[1:])
        assert gc.get_freeze_count() > 0
        assert sys.getswitchinterval() == pytest.approx(SWITCH)
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0
    assert sys.getswitchinterval() == switch


def test_garbage_of_handlers_is_still_collected() -> None:
    gone: list[str] = []

    class Part:
        def __init__(self) -> None:
            self.itself = self

        def __del__(self) -> None:
            gone.append("part")

    with set_for_work():
        Part()
        kept = [[] for _ in range(2 * YOUNGEST)]
        assert gone == ["part"]
    assert len(kept) == 2 * YOUNGEST

"""Prefetch set by hand: a worker that claims more than it can execute, however quick its handlers are."""

from __future__ import annotations

import pytest

from workbell.engine.prefetch import Prefetch


def hold_ahead(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """Have workers hold so many runs beyond those that they execute."""

    def plan(self: Prefetch, _returned: int, _moment: float, *, idle: bool, starved: bool) -> int:
        self.ahead = count
        return self._slots + count - 1

    monkeypatch.setattr(Prefetch, "plan", plan)

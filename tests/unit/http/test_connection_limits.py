"""Bounds on connections: never more than there may be, and whoever has shown a token is never the one to go."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbell.http.policies import connections
from workbell.http.policies.connections import Edge
from workbell.http.policies.open_limits import most_connections
from workbell.model.client_address import TrustedProxies

KINDS = st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(["waiting", "known", "answered"])), max_size=60)


class Someone:
    def __init__(self, bounds: Edge, home: str | None, kind: str) -> None:
        self.bounds, self.home, self.kind, self.end = bounds, home, "waiting", ""
        bounds.connections.add(self)  # type: ignore[arg-type]
        bounds.enter(self, 0.0)
        self.kind = kind

    @property
    def is_known(self) -> bool:
        return self.kind == "known"

    @property
    def is_waiting(self) -> bool:
        return self.kind == "waiting"

    def cut(self) -> None:
        self._go("cut")

    def refuse(self) -> None:
        self._go("refused")

    def _go(self, how: str) -> None:
        self.end = how
        connections: set[Any] = self.bounds.connections
        connections.discard(self)


@given(KINDS)
def test_the_bounds_hold_and_only_strangers_who_wait_are_cut(kinds: list[tuple[str, str]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(connections, "STRANGERS_OF_ADDRESS", 5)
        patch.setattr(connections, "STRANGERS", 8)
        bounds = Edge(most=12)
        everybody = []
        for home, kind in kinds:
            everybody.append(Someone(bounds, home, kind))
            here = [one for one in everybody if not one.end]
            assert len(bounds.connections) <= 12
            assert sum(not one.is_known for one in here) <= 8
            assert all(sum(one.home == home and not one.is_known for one in here) <= 5 for home in "ab")
    assert all(one.kind == "waiting" for one in everybody if one.end == "cut")
    for one in everybody:
        bounds.leave(one)
    assert bounds._strangers == {}
    assert bounds._of_homes == {}


def test_the_one_that_waits_longest_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "STRANGERS_OF_ADDRESS", 3)
    bounds = Edge(most=100)
    busy, first, second, third = (Someone(bounds, "a", kind) for kind in ("answered", "waiting", "waiting", "waiting"))
    assert [one.end for one in (busy, first, second, third)] == ["", "cut", "", ""]


def test_a_trusted_proxy_is_not_counted_as_one_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "STRANGERS_OF_ADDRESS", 3)
    monkeypatch.setattr(connections, "STRANGERS", 8)
    bounds = Edge(most=100, proxies=TrustedProxies.parse(["10.0.0.0/8"]))
    assert bounds.home_of("192.0.2.1") == "192.0.2.1"
    everybody = [Someone(bounds, bounds.home_of("10.0.0.1"), "waiting") for _ in range(9)]
    assert [one.end for one in everybody] == ["cut", *[""] * 8]  # all of them together are still bounded


@pytest.mark.parametrize(("files", "connections"), [(20, 16), (300, 75), (1024, 768), (1_048_576, 1_048_320)])
def test_descriptors_are_left_for_the_process_itself(
    files: int, connections: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    import resource

    monkeypatch.setattr(resource, "getrlimit", lambda _kind: (files, files))
    assert most_connections() == connections

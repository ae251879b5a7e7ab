"""Kumofire's tables in a D1 database, through a bridge that is bound to it. Nothing is written there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbell.stores.d1.batches import reading
from workbell.stores.d1.query_set import digest
from workbell.stores.d1.store import open_calls
from workbell.stores.database import Statement


class BridgeSource:
    """Named queries alone: a bridge that takes no searches is enough, and no table of ours is made there."""

    def __init__(self, url: str) -> None:
        self._calls = open_calls(url, connections=1)
        self.name = self._calls.base

    def read(self, query: str, **values: Any) -> Sequence[Sequence[Any]]:
        rows: list[Sequence[Any]] = []
        for sent in reading([Statement(query, values)]):
            answer = self._calls.read({"set": digest(), "batch": [each.wire for each in sent]})
            rows += [row for found in answer["answers"] for row in found]
        return rows

    def close(self) -> None:
        self._calls.close()

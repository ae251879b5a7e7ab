"""Ids: UUIDs of version 7, so that ids sort by the time they were made, made on our side of the database.

Written here because the standard library has `uuid7` only from Python 3.14; within one process ids never go
backwards (a counter fills the 12 bits behind the millisecond).
"""

from __future__ import annotations

import os
import random
import re
import time
from functools import cache
from hashlib import blake2b
from threading import Lock

_HEX = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\Z")


class IdSource:
    """Makes ids from a time in milliseconds and a source of randomness, both injected."""

    def __init__(self, randomness: random.Random) -> None:
        self._bits = randomness.getrandbits
        self._last = 0  # milliseconds << 12 | counter
        self._lock = Lock()

    def make(self, milliseconds: int) -> str:
        with self._lock:
            stamp = max(milliseconds << 12 | self._bits(11), self._last + 1)
            self._last = stamp
            tail = self._bits(62)
        value = (stamp >> 12) << 80 | 0x7 << 76 | (stamp & 0xFFF) << 64 | 0b10 << 62 | tail
        text = f"{value:032x}"
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


_source = IdSource(random.Random(os.urandom(32)))


def _reseed() -> None:
    global _source
    _source = IdSource(random.Random(os.urandom(32)))


# A forked child would otherwise repeat its parent's ids.
os.register_at_fork(after_in_child=_reseed)


def new_id() -> str:
    """A new id, later than every id this process made before."""
    return _source.make(time.time_ns() // 1_000_000)


def is_id(text: object) -> bool:
    """Whether a text has the form of one of our ids."""
    return isinstance(text, str) and _HEX.match(text) is not None


@cache
def lane_id(tenant: str, queue: str, job: str, target: str | None) -> int:
    """The id of a lane: a hash of its four parts, so that no lookup is needed to name one."""
    text = "\x1f".join((tenant, queue, job, target or "", "t" if target is not None else ""))
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big") >> 1

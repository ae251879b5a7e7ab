"""Ids and lease tokens. They are made here, not by the database. Ids are UUIDs of version 7, which sort by their time.

Written here because the standard library has `uuid7` only from Python 3.14; within one process ids never go
backwards (a counter fills the 12 bits behind the millisecond).
"""

from __future__ import annotations

import os
import random
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache, partial
from hashlib import blake2b
from threading import Lock
from uuid import UUID, uuid5

from workbell.model.clock import EPOCH

FIRST_ID = "00000000-0000-0000-0000-000000000000"  # before and behind every id
LAST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff"
MOST_TOKEN = 2**53 - 1  # up to it integers are exact in JavaScript, D1 and `jq`
_HEX = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\Z")
_ULID = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}\Z")
_AS_BASE_32 = str.maketrans("JKMNPQRSTVWXYZ", "IJKLMNOPQRSTUV")  # the digits of a ULID as those that `int` reads
_IMPORTED = UUID("7d1f0c52-6f0b-5a3e-9a55-0d2f6a1c7f10")  # the namespace of ids for texts that are neither
_TAIL = 2**48 - 1
_MILLISECOND = timedelta(milliseconds=1)
_LAST_MILLISECOND = (datetime.max.replace(tzinfo=UTC) - EPOCH) // _MILLISECOND


class IdSource:
    """Makes ids from a time in milliseconds and a source of randomness, both injected."""

    def __init__(self, randomness: random.Random) -> None:
        self._bits = randomness.getrandbits
        self._milliseconds = 0
        self._counter = 0
        self._tail = self._stride = 0
        self._prefix = self._middle = ""
        self._lock = Lock()

    def make(self, milliseconds: int) -> str:
        with self._lock:
            if milliseconds > self._milliseconds:
                self._start(milliseconds)
            elif self._counter == 0xFFF:  # over 4,000 in a millisecond, or the clock went back: borrow the next one
                self._start(self._milliseconds + 1)
            else:
                self._counter += 1
                self._tail = (self._tail + self._stride) & _TAIL
            return f"{self._prefix}{self._counter:03x}{self._middle}{self._tail:012x}"

    def _start(self, milliseconds: int) -> None:
        """Draw the 62 random bits afresh. Within a millisecond the tail goes on in random strides.

        The counter makes ids unique within this process, the random bits among processes; drawing them for each id
        would make ids no more unique, and three times as slow.
        """
        self._milliseconds = milliseconds
        self._counter = self._bits(10)
        self._tail = self._bits(48)
        self._stride = self._bits(48) | 1
        text = f"{milliseconds:012x}"
        self._prefix = f"{text[:8]}-{text[8:]}-7"
        self._middle = f"-{0x8000 | self._bits(14):04x}-"


_source = IdSource(random.Random(os.urandom(32)))


def _reseed() -> None:
    global _source
    _source = IdSource(random.Random(os.urandom(32)))


# A forked child would otherwise repeat its parent's ids.
os.register_at_fork(after_in_child=_reseed)


def new_id() -> str:
    """A new id, later than every id this process made before."""
    return _source.make(time.time_ns() // 1_000_000)


# A random lease token; 0 is that of a run that was never claimed. Random, so that a store that went back to an older
# state cannot issue one twice; from the operating system, so that a forked child does not draw as its parent does.
new_lease_token: Callable[[], int] = partial(random.SystemRandom().randint, 1, MOST_TOKEN)


def is_id(text: object) -> bool:
    """Whether a text has the form of one of our ids."""
    return isinstance(text, str) and _HEX.match(text) is not None


def id_of(text: object) -> str:
    """The id that stands for a text which an application stored as an id, always the same one.

    A UUID is its own. A ULID has 128 bits with its time in front, as a UUID of version 7 has, and sorts among ours. Any
    other text gets a UUID made of it. So what was imported under an id of another form is found without a table of ids.
    """
    given = str(text)
    if is_id(lowered := given.lower()):
        return lowered
    if _ULID.match(raised := given.upper()):
        return str(UUID(int=int(raised.translate(_AS_BASE_32), 32)))
    return str(uuid5(_IMPORTED, given.encode(errors="replace").decode()))


def first_id_at(time: datetime) -> str:
    """The smallest id that can be made in the millisecond of a time: a bound for ids that are asked for by time."""
    text = f"{max((time - EPOCH) // _MILLISECOND, 0):012x}"
    return f"{text[:8]}-{text[8:]}-7000-8000-000000000000"


def time_of(run_id: str) -> datetime:
    """The time at which an id was made, by the clock of its maker; at the latest the end of the year 9999."""
    return EPOCH + min(int(run_id[:8] + run_id[9:13], 16), _LAST_MILLISECOND) * _MILLISECOND


@lru_cache(maxsize=8192)
def lane_id(tenant: str, queue: str, job: str, target: str | None, key: str | None = None) -> int:
    """The id of a lane: a hash of its parts, so that no lookup is needed to name one."""
    text = "\x1f".join((tenant, queue, job, target or "", "t" if target is not None else ""))
    if key is not None:
        text = f"{text}\x1f{key}"
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big") >> 1

"""What a worker has begun, in memory that outlives it: its supervisor reads there who was at work as it died.

An entry is written before a handler is called, marked when it has returned, and wiped when what came of it is in the
store: in between, the handler was called and nobody else knows. There is no lock: each run has a place of its own. The
flag is the last byte to be written, so that an entry torn by a death reads as a handler that had not begun.
"""

from __future__ import annotations

import struct
import time
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from workbell.engine.work import Work

_ENTRY = struct.Struct("<16sIddB")
_FLAG = _ENTRY.size - 1
_EXECUTING, _RETURNED = 1, 2
_UNBOOKED = 5000  # places for those that have returned: more are not in a worker's hands, see consume.py


class Note(NamedTuple):
    """A run that was begun; times are monotonic, which all processes of a machine share."""

    run_id: str
    token: int
    started: float
    deadline: float | None
    returned: bool = False  # the handler is done, or in a process of its own: it can harm the worker no more


def board_size(concurrency: int) -> int:
    """Bytes for as many async, plain and isolated handlers, and for what waits to be booked."""
    return _ENTRY.size * (3 * concurrency + _UNBOOKED)


class Journal:
    """A writable array of bytes, divided into places."""

    def __init__(self, memory: Any) -> None:
        self._memory = memory
        self._free = deque(range(0, len(self._memory), _ENTRY.size))

    def begin(self, work: Work) -> None:
        try:
            place = self._free.pop()
        except IndexError:  # more than there are places for
            return
        work.place = place
        now, timeout = time.monotonic(), work.timeout
        deadline = 0.0 if timeout is None else now + timeout
        run = bytes.fromhex(work.run.id.replace("-", ""))
        _ENTRY.pack_into(self._memory, place, run, work.run.token, now, deadline, _EXECUTING)

    def end(self, work: Work) -> None:
        """Its handler has returned."""
        if work.place is not None:
            self._memory[work.place + _FLAG] = _RETURNED

    def wipe(self, work: Work) -> None:
        """What came of it is in the store, or nobody's any more."""
        place, work.place = work.place, None
        if place is not None:
            self._memory[place + _FLAG] = 0
            self._free.append(place)


def notes_on(board: Any) -> list[Note]:
    """What has begun and is not booked, or was so at the end."""
    memory = bytes(board)
    flags = memory[_FLAG :: _ENTRY.size]
    found = []
    for place in [place for place, flag in enumerate(flags) if flag] if any(flags) else []:
        run, token, started, deadline, flag = _ENTRY.unpack_from(memory, place * _ENTRY.size)
        text = run.hex()
        run_id = f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
        found.append(Note(run_id, token, started, deadline or None, flag == _RETURNED))
    return found

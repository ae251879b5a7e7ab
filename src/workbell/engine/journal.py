"""Journal of starts in shared memory, which outlives a worker: the supervisor reads which runs it was executing.

An entry is written before a handler is called, marked when it has returned, and wiped when its outcome is in the
store: in between, only the journal knows of the call. There is no lock: each run has an entry of its own. The
flag is the last byte to be written, so that an entry torn by a death reads as a handler that had not begun.
"""

from __future__ import annotations

import struct
import time
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from workbell.engine.work import Work

_ENTRY = struct.Struct("<16sQddB")
_FLAG = _ENTRY.size - 1
_EXECUTING, _RETURNED = 1, 2
_UNBOOKED = 5000  # entries for handlers that have returned: a worker never holds more, see MOST_UNBOOKED in finish.py


class Note(NamedTuple):
    """A run that was begun; times are monotonic, which all processes of a machine share."""

    run_id: str
    token: int
    started: float
    deadline: float | None
    returned: bool = False  # the handler is done, or in a process of its own: it can harm the worker no more


def journal_size(concurrency: int) -> int:
    """Bytes for as many async, plain and isolated handlers, and for what waits to be booked."""
    return _ENTRY.size * (3 * concurrency + _UNBOOKED)


class Journal:
    """A writable array of bytes, divided into entries."""

    def __init__(self, memory: Any) -> None:
        self._memory = memory
        self._free = deque(range(0, len(self._memory), _ENTRY.size))

    def begin(self, work: Work) -> None:
        try:
            offset = self._free.pop()
        except IndexError:  # more runs than entries
            return
        work.journal_offset = offset
        now, timeout = time.monotonic(), work.timeout
        deadline = 0.0 if timeout is None else now + timeout
        run = bytes.fromhex(work.run.id.replace("-", ""))
        _ENTRY.pack_into(self._memory, offset, run, work.run.token, now, deadline, _EXECUTING)

    def end(self, work: Work) -> None:
        """Its handler has returned."""
        if work.journal_offset is not None:
            self._memory[work.journal_offset + _FLAG] = _RETURNED

    def wipe(self, work: Work) -> None:
        """Its outcome is in the store, or its lease is lost."""
        offset, work.journal_offset = work.journal_offset, None
        if offset is not None:
            self._memory[offset + _FLAG] = 0
            self._free.append(offset)


def read_notes(memory: Any) -> list[Note]:
    """Runs that have begun and are not booked, or were so when the worker died."""
    entries = bytes(memory)
    flags = entries[_FLAG :: _ENTRY.size]
    found = []
    for index in [index for index, flag in enumerate(flags) if flag] if any(flags) else []:
        run, token, started, deadline, flag = _ENTRY.unpack_from(entries, index * _ENTRY.size)
        text = run.hex()
        run_id = f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
        found.append(Note(run_id, token, started, deadline or None, flag == _RETURNED))
    return found

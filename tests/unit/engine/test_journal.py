"""Journal of starts: what was being executed is read from it, also after the writer was killed."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace
from typing import Any

from workbell.engine.journal import _ENTRY, Journal, journal_size, read_notes
from workbell.model.ids import MOST_TOKEN, new_id


def work(timeout: float | None = None, token: int = 1) -> Any:
    return SimpleNamespace(run=SimpleNamespace(id=new_id(), token=token), timeout=timeout, journal_offset=None)


def test_what_began_and_has_not_ended_is_there() -> None:
    memory = (ctypes.c_ubyte * journal_size(2))()
    writer = Journal(memory)
    first, second = work(token=MOST_TOKEN), work(timeout=10)
    writer.begin(first)
    writer.begin(second)
    notes = {note.run_id: note for note in read_notes(memory)}
    assert set(notes) == {first.run.id, second.run.id}
    assert (notes[first.run.id].token, notes[first.run.id].deadline) == (MOST_TOKEN, None)
    late = notes[second.run.id]
    assert late.deadline is not None
    assert 9.99 < late.deadline - late.started < 10.01
    writer.end(first)
    assert {note.run_id: note.returned for note in read_notes(memory)} == {first.run.id: True, second.run.id: False}
    writer.wipe(first)
    assert [note.run_id for note in read_notes(memory)] == [second.run.id]
    writer.wipe(second)
    assert read_notes(memory) == []


def test_entries_are_used_again() -> None:
    memory = bytearray(journal_size(1))
    journal = Journal(memory)
    for _ in range(10):
        works = [work(), work()]
        for one in works:
            journal.begin(one)
        assert len(read_notes(memory)) == 2
        for one in works:
            journal.wipe(one)
    assert read_notes(memory) == []


def test_more_than_there_is_room_for_is_left_out_and_does_no_harm() -> None:
    memory = bytearray(2 * _ENTRY.size)
    journal = Journal(memory)
    works = [work() for _ in range(3)]
    for one in works:
        journal.begin(one)
    assert [note.run_id for note in read_notes(memory)] != []
    assert works[2].journal_offset is None
    for one in works:
        journal.end(one)
        journal.wipe(one)
    assert read_notes(memory) == []


def test_an_entry_that_was_not_written_to_its_end_is_none() -> None:
    """A process can die at any byte; the last one makes the entry valid."""
    memory = bytearray(journal_size(1))
    journal = Journal(memory)
    journal.begin(work())
    whole = bytes(memory)
    offset = whole.index(1, _ENTRY.size - 1) - _ENTRY.size + 1
    for torn in range(_ENTRY.size):
        memory[:] = bytes(len(memory))
        memory[offset : offset + torn] = whole[offset : offset + torn]
        assert read_notes(memory) == []

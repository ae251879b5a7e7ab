"""Attributes that are built when they are first read: once, for all threads, also where a fork comes between."""

from __future__ import annotations

import threading

from workbell import Workbell
from workbell.process.first_use import on_first_use

THREADS = 8


class Thing:
    def __init__(self) -> None:
        self.builds = 0
        self.meeting: threading.Barrier | None = None

    @on_first_use
    def part(self) -> list[str]:
        """A part."""
        self.builds += 1
        if self.meeting is not None:
            self.meeting.wait(30)  # until all are building one
        return ["built"]


def test_it_is_built_when_it_is_read_and_not_again() -> None:
    thing, other = Thing(), Thing()
    assert "part" not in vars(thing)
    part = thing.part
    assert thing.part is part is vars(thing)["part"]
    assert thing.builds == 1
    assert other.part is not part


def test_threads_that_build_one_at_the_same_time_get_the_same() -> None:
    thing, got = Thing(), []
    thing.meeting = threading.Barrier(THREADS)
    threads = [threading.Thread(target=lambda: got.append(thing.part)) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert thing.builds == len(got) == THREADS
    assert all(part is thing.part for part in got)


def test_it_can_be_assigned_and_is_documented_on_its_class() -> None:
    thing, mine = Thing(), ["mine"]
    vars(thing)["part"] = mine
    assert thing.part is mine
    assert Thing.part.__doc__ == "A part."


def test_what_a_program_has_not_used_is_not_built_to_be_closed() -> None:
    bell = Workbell("memory://")
    bell.close()
    assert not {"engine", "host", "one_shot", "agents", "webhooks", "schedules"} & vars(bell).keys()

"""A crew to be killed: processes that emit events, and schedulers that fan them out and die in the middle of it.

Run with `python -m`, from the folder that holds the test packages: a seed, how many events, and how many deaths of
schedulers. The store comes from WORKBELL_URL, the recording goes to RECORDING. The crew is forked from one process,
which has compiled and imported everything: a death costs little then, so that there can be many. Whoever dies is
replaced; an emitter goes on where the one before has stopped, with the same keys.

Recorded are `emitted` and `rolled back` with the number and the id of an event, once its transaction has ended;
`dying` with the point where a scheduler ends itself; `killed` with the pid; and `done`, when every event was emitted
and everybody has died who was to.
"""

from __future__ import annotations

import gc
import mmap
import os
import random
import signal
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from workbell import Workbell
from workbell.engine import match_events as match
from workbell.engine.match_events import MatchEvents
from workbell.errors import StoreUnavailable
from workbell.model.event import Event
from workbell.stores.database import Row

from .event_triggers import JOB, type_of
from .processes import file_of
from .recorder import Recorder
from .statements import watch_statements
from .waiting import until
from .worker_app import die_with_parent

# Of a fan-out, in its order: nothing is written yet; it is under way; all of it is written but for the commit; it is
# committed, and nobody here knows. `outside` is a kill by the crew's first process, whatever is being done.
POINTS = ("before", "taken", "inserted", "written", "committed", "outside")
# Which statement of a fan-out leads to which point, on either engine.
AFTER = {
    "take_events": "taken",
    "add_runs": "inserted",
    "add_taken_runs": "inserted",
    "add_matches": "written",
    "add_taken_matches": "written",
}
SCHEDULERS, EMITTERS = 3, 4
BATCH = 8  # events in one fan-out: so that there are many
GROUP = 8  # events that an emitter tells between two notes of where it is
PACE = 0.005
POLL = 0.02


class Doom(NamedTuple):
    """Where a process ends itself: at a point, when it comes there for the so-manieth time."""

    point: str | None = None
    passes: int = 0


class Places:
    """How far each emitter has come, known to all: also after one was killed."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, EMITTERS * 8)

    def __getitem__(self, emitter: int) -> int:
        return int.from_bytes(self._memory[emitter * 8 : emitter * 8 + 8], "little")

    def __setitem__(self, emitter: int, place: int) -> None:
        self._memory[emitter * 8 : emitter * 8 + 8] = place.to_bytes(8, "little")


# Schedulers


def doomed(bell: Workbell, recorder: Recorder, doom: Doom) -> None:
    """Let this process die at its point, and only where something of its own is being written."""
    left = doom.passes
    store: Any = bell.store

    def reach(point: str) -> None:
        nonlocal left
        if point == doom.point:
            left -= 1
            if left <= 0:
                recorder.note("dying", point=point)
                os.kill(os.getpid(), signal.SIGKILL)

    whole = store.events.fan_out

    def fan_out(*arguments: Any) -> set[str]:
        reach("before")
        taken: set[str] = whole(*arguments)
        if taken:
            reach("committed")
        return taken

    store.events.fan_out = fan_out
    taking = threading.local()  # whether the transaction of this thread has taken events

    def seen(query: str, found: Sequence[Row]) -> None:
        if query == "take_events":
            taking.any = bool(found)
        if query in AFTER and getattr(taking, "any", False):
            reach(AFTER[query])
            taking.any = AFTER[query] != "written"

    watch_statements(seen)


def schedule(recorder: Recorder, doom: Doom, whole: bool) -> None:
    """Fan out for good: by the duty alone, or with a whole engine around it, which works off the runs as well."""
    match.BATCH = BATCH
    bell = Workbell()
    bell.store.check()

    @bell.job(name=JOB)
    def hear() -> None: ...

    doomed(bell, recorder, doom)
    if whole:
        bell.run(concurrency=2)
        return
    duty = MatchEvents(bell.store, bell.registry, bell.runtime.subscriptions, lambda _: None, POLL)
    while True:
        try:
            time.sleep(duty.step(bell.store.clock.now()))
        except StoreUnavailable:
            time.sleep(PACE)


# Emitters


@contextmanager
def own_connection(url: str) -> Iterator[Any]:
    """A connection of the caller's own, in whose transaction events are told."""
    path = file_of(url)
    connection: Any
    if path is not None:
        connection = sqlite3.connect(path, timeout=20)
    else:
        import psycopg

        connection = psycopg.connect(url, prepare_threshold=None)
    try:
        yield connection
    finally:
        connection.close()


def emit(recorder: Recorder, emitter: int, places: Places, last: int, dice: random.Random) -> None:
    """All numbers of this emitter, in groups; half of the emitters tell half of a group in a transaction of theirs."""
    url = os.environ["WORKBELL_URL"]
    bell = Workbell()
    threads = ThreadPoolExecutor(2)

    def tell(number: int, **where: Any) -> Event:
        event = bell.emit(type_of(number), {"number": number}, key=f"n{number}", **where)
        if not where:
            recorder.note("emitted", number=number, event=event.id)
        return event

    def past(event: Event) -> bool:
        return bell.store.events.find([event.id])[event.id].fanned_out_at is not None

    with own_connection(url) as connection:
        for first in range(places[emitter], last, GROUP):
            numbers = range(first, first + GROUP)
            if emitter % 2:
                list(threads.map(tell, numbers))
            else:
                slow = {number: tell(number, connection=connection) for number in numbers if is_slow(number)}
                others = [number for number in numbers if not is_slow(number)]
                if file_of(url) is None:
                    newer = list(threads.map(tell, others))
                    if first // GROUP % 2:
                        # What is committed then is older than what was fanned out before.
                        until(lambda event=newer[-1]: past(event), "the fan-out to go past an open transaction", 60)
                else:
                    time.sleep(dice.uniform(0, 0.004))  # SQLite has one writer: the others wait
                back = is_rolled_back(first)
                (connection.rollback if back else connection.commit)()
                for number, event in slow.items():
                    recorder.note("rolled back" if back else "emitted", number=number, event=event.id)
                if file_of(url) is not None:
                    list(threads.map(tell, others))
            places[emitter] = first + GROUP


def is_slow(number: int) -> bool:
    return number % GROUP < GROUP // 2


def is_rolled_back(number: int) -> bool:
    return number // GROUP % 3 == 1


def is_there(number: int, events: int) -> bool:
    """Whether this one of so many is there in the end. For the test."""
    emitter = number // (events // EMITTERS)
    return bool(emitter % 2) or not is_slow(number) or not is_rolled_back(number)


# The crew


class Crew:
    """Keeps its processes going, and kills some of them."""

    def __init__(self, recorder: Recorder, seed: str, events: int, deaths: int) -> None:
        self._recorder = recorder
        self._dice = random.Random(seed)
        self._places = Places()
        share = events // EMITTERS
        assert share % GROUP == 0
        self._ranges = [range(n * share, (n + 1) * share) for n in range(EMITTERS)]
        for emitter, numbers in enumerate(self._ranges):
            self._places[emitter] = numbers.start
        listed = [POINTS[n % len(POINTS)] for n in range(deaths)]
        self._dice.shuffle(listed)
        self._dooms = listed
        self._emitter_kills = sorted(self._dice.sample(range(events), deaths // 4))
        self._schedulers: dict[int, int] = {}  # which of them has which pid
        self._emitters: dict[int, int] = {}
        self._victims: set[int] = set()  # those that are killed from here
        self._all_died = False

    def _fork(self, work: Callable[[random.Random], None]) -> int:
        dice = random.Random(self._dice.random())
        pid = os.fork()
        if pid:
            return pid
        try:
            die_with_parent()
            work(dice)
            os._exit(0)
        except BaseException:
            sys.excepthook(*sys.exc_info())
            os._exit(1)

    def _start_schedulers(self) -> None:
        """All that are missing. Those that live for ever come last: they would leave nothing to the others."""
        missing = [place for place in range(SCHEDULERS) if place not in self._schedulers.values()]
        if not self._dooms and len(missing) < SCHEDULERS:
            return
        for place in missing:
            doom = Doom(self._dooms.pop(), self._dice.randint(1, 4)) if self._dooms else Doom()
            pid = self._fork(lambda _, doom=doom, whole=place == 0: schedule(self._recorder, doom, whole))
            self._schedulers[pid] = place
            if doom.point == "outside":
                self._victims.add(pid)
            if doom.point is None:
                self._all_died = True

    def _start_emitter(self, emitter: int) -> None:
        last = self._ranges[emitter].stop
        pid = self._fork(lambda dice: emit(self._recorder, emitter, self._places, last, dice))
        self._emitters[pid] = emitter

    def _kill(self, pid: int) -> None:
        self._recorder.note("killed", victim=pid)
        os.kill(pid, signal.SIGKILL)

    def _reap(self) -> None:
        """Replace whoever has died; that an emitter has come to its end is no death."""
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, f"{pid} ended with {status}"
            if pid in self._schedulers:
                del self._schedulers[pid]
                self._victims.discard(pid)
                self._start_schedulers()
            else:
                emitter = self._emitters.pop(pid)
                if self._places[emitter] < self._ranges[emitter].stop:
                    self._start_emitter(emitter)

    def _strike(self) -> None:
        told = sum(self._places[n] - numbers.start for n, numbers in enumerate(self._ranges))
        if self._emitter_kills and told >= self._emitter_kills[0] and self._emitters:
            del self._emitter_kills[0]
            self._kill(self._dice.choice(list(self._emitters)))
        # While it starts, reads, writes or rests.
        for pid in list(self._victims):
            if self._dice.random() < 0.05:
                self._victims.remove(pid)
                self._kill(pid)

    def run(self) -> None:
        self._start_schedulers()
        for emitter in range(EMITTERS):
            self._start_emitter(emitter)
        said = False
        while True:
            self._reap()
            self._strike()
            if not said and self._all_died and not self._emitters:
                self._recorder.note("done")
                said = True
            time.sleep(PACE)


def main(seed: str, events: str, deaths: str) -> None:
    die_with_parent()
    gc.freeze()  # what is shared with the forked ones stays shared
    Crew(Recorder(Path(os.environ["RECORDING"])), seed, int(events), int(deaths)).run()


if __name__ == "__main__":
    main(*sys.argv[1:])

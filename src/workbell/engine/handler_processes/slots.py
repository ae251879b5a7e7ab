"""Slots for isolated handlers: a thread of the worker for each handler process that is in use."""

from __future__ import annotations

import logging
import signal
import threading
from collections import deque
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue

from workbell.engine.execute import Done, Starts, book_safely, stopped, used_up
from workbell.engine.handler_processes.entry import Entry
from workbell.engine.handler_processes.messages import Answer, Begun, Execute, Ready
from workbell.engine.handler_processes.process import END, IsolatedProcess, NoAnswerInTime, how_it_ended
from workbell.engine.journal import Journal
from workbell.engine.work import Work
from workbell.errors import WorkbellError
from workbell.handlers.registry import Registry
from workbell.model.clock import Clock
from workbell.model.outcome import Died, Failed, Outcome, Raised
from workbell.notices.push_message import Broadcast, SendToUser

log = logging.getLogger("workbell.boot.handler_process")

IDLE = 60.0  # seconds that an idle process waits for the next run
MOST_RUNS = 1000  # of one process, after which another replaces it
CANCEL_GRACE = 1.0  # seconds for an async handler to end by itself, once its time is over
PREPARE_TIMEOUT = 60.0  # seconds to start a process, and again to load a job's code

Post = Callable[[SendToUser | Broadcast], None]


class IsolatedSlots:
    """Executes handlers in processes of their own, at most `size` at once, each with one run at a time.

    The process that was used last is used next, so that those which a rush has left behind are soon let go.
    """

    def __init__(
        self,
        size: int,
        clock: Clock,
        registry: Registry,
        entry: Callable[[], Entry],
        post: Post,
        done: Done,
        journal: Journal | None = None,
        *,
        idle: float = IDLE,
    ) -> None:
        self._size = size
        self._idle_span = idle
        self.clock = clock
        self.starts = Starts(clock)
        self.registry = registry
        self.entry = entry
        self.post = post
        self.done = done
        self.journal = journal
        self._lock = threading.Lock()
        self._waiting: deque[Work] = deque()
        self._slots: set[_ProcessSlot] = set()
        self._idle: list[_ProcessSlot] = []
        self._busy: dict[Work, _ProcessSlot] = {}
        self._closed = False

    def put(self, works: Sequence[Work]) -> None:
        with self._lock:
            for work in works:
                if self._idle:
                    self._idle.pop().give(work)
                elif len(self._slots) < self._size:
                    slot = _ProcessSlot(self)
                    self._slots.add(slot)
                    slot.give(work)
                    slot.start()
                else:
                    self._waiting.append(work)

    def next_for(self, slot: _ProcessSlot) -> Work | None:
        """Next work of a slot; none: the slot was idle for too long, and ends."""
        try:
            return slot.queue.get(timeout=self._idle_span)
        except Empty:
            with self._lock:
                if slot in self._idle:
                    self._idle.remove(slot)
                    self._slots.discard(slot)
                    return None
            return slot.queue.get()  # it was given something at this very moment

    def begin(self, work: Work, slot: _ProcessSlot) -> bool:
        """Whether there is still something to do."""
        with self._lock:
            if work.settled:
                return False
            self._busy[work] = slot
            return True

    def finish(self, work: Work, outcome: Outcome, slot: _ProcessSlot) -> None:
        """Free the slot, then book the outcome: runs that are enqueued on a run's end find the slot free."""
        with self._lock:
            work.returned = True
            self._busy.pop(work, None)
        self.free(slot)
        book_safely(self.done, work, outcome)

    def free(self, slot: _ProcessSlot) -> None:
        with self._lock:
            if self._waiting:
                slot.give(self._waiting.popleft())
            elif self._closed:
                slot.give(None)
            else:
                self._idle.append(slot)

    def expire(self, work: Work) -> None:
        """Timeout of a work: kill its process; the outcome follows from `work.timed_out`."""
        with self._lock:
            if work.settled or work.returned or work.timed_out or not self._is_over(work):
                return
            work.timed_out = True
        self.stop_work(work)

    def _is_over(self, work: Work) -> bool:
        """An async handler is first cancelled by its own event loop, as in the worker itself, and may tidy up."""
        timeout, begun = work.timeout, work.begun
        if timeout is None or begun is None:
            return False
        allowed = timeout + CANCEL_GRACE if work.job.is_async else timeout
        return self.clock.monotonic() - begun >= allowed

    def stop_work(self, work: Work) -> None:
        """Kill the process of a work, from any thread; what it means stands in the work."""
        with self._lock:
            slot = None if work.returned else self._busy.get(work)
            if slot is not None and slot.process is not None:
                slot.process.kill()

    def take_back(self) -> list[Work]:
        """Works that have not begun."""
        with self._lock:
            taken = list(self._waiting)
            self._waiting.clear()
        return taken

    def close(self) -> None:
        """Let the processes end, and kill those that do not."""
        with self._lock:
            self._closed = True
            slots = list(self._slots)
            for work in self._busy:
                work.release = True
            for slot in self._idle:
                slot.queue.put(None)
            self._idle.clear()
            self._slots.difference_update(slots)
        for work in list(self._busy):
            self.stop_work(work)
        for slot in slots:
            slot.thread.join(2 * END)


class _ProcessSlot:
    """Slot for one isolated handler: a thread, and the process that it holds."""

    def __init__(self, slots: IsolatedSlots) -> None:
        self._slots = slots
        self.queue: SimpleQueue[Work | None] = SimpleQueue()
        self.process: IsolatedProcess | None = None
        self.thread = threading.Thread(target=self._run, name="workbell-isolated", daemon=True)
        self.give, self.start = self.queue.put, self.thread.start

    def _run(self) -> None:
        work = self.queue.get()
        while work is not None:
            if self._slots.begin(work, self):
                self._slots.finish(work, self._outcome(work), self)
            else:
                self._slots.free(self)
            if self.process is not None and self.process.runs >= MOST_RUNS:
                self._let_go()
            work = self._slots.next_for(self)
        self._let_go()

    def _outcome(self, work: Work) -> Outcome:
        """Whatever happens, the run must be booked."""
        try:
            return self._slots.starts.refused(work) or self._execute(work)
        except WorkbellError as error:
            return stopped(work) or _unfit(work, str(error))
        except Exception as error:
            log.exception("run %s: its process cannot be used", work.run.id)
            self._let_go()
            return stopped(work) or Raised(error, "isolate")

    def _execute(self, work: Work) -> Outcome:
        process = self._process_for(work)
        # A cancel or stop may have come before there was a process to kill, or while it was starting.
        asked = self._slots.starts.refused(work)
        if process is None:
            how = "its process ended while it was starting; its own words are in the worker's output."
            return asked or _unfit(work, how)
        if asked is not None:
            return asked
        process.runs += 1
        begun = False
        if self._slots.journal is not None:  # from now on the handler may be called; it can take no worker with it
            self._slots.journal.begin(work)
            self._slots.journal.end(work)
        try:
            message = process.receive(PREPARE_TIMEOUT) if process.send(_execute(work)) else None
            while message is not None:
                match message:
                    case Begun():
                        begun = True
                        work.begin(self._slots.clock)
                    case SendToUser() | Broadcast():
                        self._slots.post(message)
                    case Ready():
                        pass
                    case _:
                        return self._answered(message)
                message = process.receive(None if begun else PREPARE_TIMEOUT)
        except NoAnswerInTime:
            self._bury()
            return stopped(work) or _unfit(work, f"its code was not loaded within {PREPARE_TIMEOUT:g} s.")
        code = self._bury()
        asked = stopped(work)
        if asked is not None:
            return asked
        if code is not None and code == -getattr(signal, "SIGXCPU", 0):
            return used_up(work)
        if not begun:
            return _unfit(work, f"its process {how_it_ended(code)} while it loaded the job's code.")
        return Died(how_it_ended(code))

    def _process_for(self, work: Work) -> IsolatedProcess | None:
        """The slot's process, if it has the current code of this job; else a new one. None: it ended at once."""
        if self.process is not None and self.process.is_dead:
            self._bury()  # killed while it had nothing to do: that is not this run's fault
        declared = work.job.declared
        if self.process is not None and self.process.jobs.get(declared.name) is declared:
            return self.process
        self._let_go()
        jobs = {job.name: job for job in self._slots.registry}
        self.process = process = IsolatedProcess(self._slots.entry(), jobs)
        try:
            if process.receive(PREPARE_TIMEOUT) is not None:
                return process
        except NoAnswerInTime:
            pass
        self._bury()
        return None

    def _answered(self, answer: Answer) -> Outcome:
        if isinstance(answer, Failed) and answer.reason == "memory":
            self._bury()  # whatever it had gathered, the next run begins with all of its allowance
        return answer

    def _bury(self) -> int | None:
        process, self.process = self.process, None
        return None if process is None else process.bury()

    def _let_go(self) -> None:
        process, self.process = self.process, None
        if process is not None:
            process.end()


def _execute(work: Work) -> Execute:
    job = work.job
    if job.declared is job:
        return Execute(work.run, job.handler)
    return Execute(work.run, job.handler, job.declared.name, job.timeout)


def _unfit(work: Work, why: str) -> Failed:
    return Failed(f"job {work.job.name} with isolate='process': {why}", "isolate")

"""The supervisor: starts the children, restarts the dead, kills the hung, replaces the worn, and ends them all.

It opens no database and loads nothing of the application's, so that there is little it could die of.
"""

from __future__ import annotations

import logging
import signal
import socket
import time
from collections import deque
from multiprocessing.connection import wait
from pathlib import Path

from workbell.engine.finish import log_dropped, some_of
from workbell.engine.handler_processes.process import how_it_ended
from workbell.errors import StoreUnavailable, WorkbellError
from workbell.notices.push_message import Broadcast, SendToUser
from workbell.process.identity import STOPPED, process_states
from workbell.process.platform import platform
from workbell.process.service_manager import ServiceManager
from workbell.stores.sqlite.lock_holders import lock_holders
from workbell.workers.backoff import next_failures, wait_after
from workbell.workers.child import FORCED
from workbell.workers.child_process import Child, make_context
from workbell.workers.messages import (
    Bury,
    ChildHeartbeat,
    DeathVerdict,
    KeepLeases,
    LeasesKept,
    Message,
    OutcomesKept,
    OutcomesSettled,
    Stop,
    StoreNamed,
    WorkerError,
    WorkerShutdown,
    WorkerStarted,
)
from workbell.workers.plan import WorkerPlan
from workbell.workers.probe_listener import ProbeListener
from workbell.workers.readiness import Readiness
from workbell.workers.service_reports import ServiceReports
from workbell.workers.signals import Signals
from workbell.workers.task import ChildKind, Task

log = logging.getLogger("workbell.workers")

CHECK_PACE = 0.5  # seconds between two checks of the children
STATES_PACE = {True: CHECK_PACE, False: 2.0}  # seconds between two reads of their states, with and without /proc
HUNG = 5.0  # seconds that a handler may outlast its time, before its worker is killed
STOPPED_FOR = 2.0  # seconds that a child may be stopped (SIGSTOP) before that is logged
# Seconds that a stopped child may have the write lock of a SQLite file, before it is killed. All other writes wait
# meanwhile, and fail after 10 s.
HINDERS = 4.0
KEEPER_ENDS = 3.0
AT_ONCE = 100  # messages of one child
REMEMBER = 30.0  # seconds for which a new keeper gets the deaths that the one before got


class CannotStart(WorkbellError):
    """The children cannot start: the error that the first of them reported."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class Post:
    """A child position, and the process that fills it now."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.child: Child | None = None
        self.failures = 0  # quick deaths in a row
        self.start_at = 0.0


class Supervisor:
    def __init__(
        self,
        plan: WorkerPlan,
        http: socket.socket | None = None,
        probe: socket.socket | None = None,
        manager: ServiceManager | None = None,
        address: str | None = None,
    ) -> None:
        """`http` is lent to the server, and logged as `address` once that has started; probes are answered on `probe`,
        and the service manager gets reports."""
        self._plan = plan
        self._http = http  # held here and lent to the server: requests during a replacement wait, and are answered
        self._address = address
        self._context = make_context()
        self._posts = [Post(task) for task in plan.tasks()]
        self._readiness = Readiness([post.task.name for post in self._posts])
        self._reports = ServiceReports(manager or ServiceManager(), self._readiness)
        self._probes = None if probe is None else ProbeListener(probe, self._readiness)
        self._keeper: Post | None = None
        self._leaving: list[Child] = []  # replaced children; they end once their successors have started
        self._burials: list[tuple[float, Bury]] = []  # deaths to report to the keeper, with their times
        self._outcomes: dict[str, OutcomesKept] = {}  # for the keeper, and for the next one until they are settled
        self._end_by = 0.0  # when the grace of a stop is over
        self._keeper_updated_at = 0.0
        self._checked_at = 0.0
        self._states_read_at = 0.0
        self._to_roll: deque[Post] = deque()
        self._signals = Signals()
        self._error: WorkerError | None = None
        self._ready = False  # a first child has started: from then on dead children are restarted
        self._stopping = False

    def run(self) -> None:
        """Until SIGTERM or SIGINT; the second one hurries. SIGHUP replaces the children one by one."""
        with self._signals.caught(signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            try:
                if self._probes is not None:
                    self._probes.start()
                self._start(self._posts[0])
                while not (self._stopping and not self._present()):
                    self._step()
                self._end_keeper()
            finally:
                for child in [*self._present(), *self._keepers()]:
                    child.kill()
                    child.bury()
                if self._probes is not None:
                    self._probes.close()
                if self._http is not None:
                    self._http.close()
        if self._error is not None:
            raise CannotStart(self._error.error, self._error.exit_code)
        log.info("stopped")

    # Present children

    def _present(self) -> list[Child]:
        return [post.child for post in self._posts if post.child is not None] + self._leaving

    def _keepers(self) -> list[Child]:
        return [self._keeper.child] if self._keeper is not None and self._keeper.child is not None else []

    def _all_posts(self) -> list[Post]:
        return self._posts if self._keeper is None else [*self._posts, self._keeper]

    def _start(self, post: Post) -> None:
        try:
            http = self._http if post.task.kind is ChildKind.SERVER else None
            post.child = Child(self._context, post.task, self._plan.recipe.settings.concurrency, http)
            log.debug("%s: process %d", post.task.name, post.child.pid)
        except (OSError, EOFError) as error:  # no room for another process; the others go on
            post.child = None
            self._put_off(post, 0.0)
            log.error("%s cannot be started, and is tried again: %s", post.task.name, error or "no process was made")

    # One round

    def _step(self) -> None:
        children = [*self._present(), *self._keepers()]
        by_pipe = {child.pipe.connection: child for child in children}
        by_end = {child.sentinel: child for child in children}
        for ready in wait([*by_pipe, *by_end, self._signals.read_end], self._pause()):
            if ready is self._signals.read_end:
                for number in self._signals.received():
                    self._on_signal(number)
            elif ready in by_pipe:
                self._receive(by_pipe[ready])
        for child in [child for end, child in by_end.items() if wait([end], 0)]:
            self._on_end(child)
        self._check_children()
        self._readiness.stopping = self._stopping
        self._readiness.note_step()
        self._reports.step()

    def _pause(self) -> float:
        """Seconds until something is to be done, if nothing happens before."""
        times = [post.start_at for post in self._all_posts() if post.child is None]
        times += [child.end_by for child in self._present() if child.end_by is not None and not child.cut]
        return max(min([CHECK_PACE, *(at - time.monotonic() for at in times)]), 0.01)

    def _receive(self, child: Child) -> None:
        for _ in range(AT_ONCE):  # others have messages too
            message = child.pipe.receive() if child.pipe.waits() else None
            if message is None:
                return
            self._on_message(child, message)

    def _on_message(self, child: Child, message: Message) -> None:
        match message:
            case WorkerStarted(worker, poll=poll):
                child.worker = worker
                self._readiness.note_start(child.task.name, poll)
                child.started = True
                log.info("%s started", child.task.name, extra={"worker_id": worker})
                self._on_start(child)
            case StoreNamed():
                self._ensure_keeper(message)
            case ChildHeartbeat(_, _, booked, memory, silent, drained):
                child.booked, child.memory = booked, memory
                self._readiness.note_heartbeat(child.task.name, silent, drained=drained)
            case WorkerError(error, code):
                child.unreachable = code == StoreUnavailable.exit_code
                if self._ready:
                    log.error("%s: %s", child.task.name, error)
                else:
                    self._error = message  # raised once, at the end
            case WorkerShutdown(_, handed_back, holds_nothing):
                child.ended_well = holds_nothing
                child.cut = not holds_nothing
                log.info("%s ended; handed back: %d", child.task.name, handed_back)
            case OutcomesKept(message_id):
                self._outcomes[message_id] = message
                child.handed_over.update(kept.run.id for kept in message.outcomes)
                for keeper in self._keepers():
                    keeper.send(message)
            case OutcomesSettled(ids):
                for message_id in ids:
                    self._outcomes.pop(message_id, None)
            case SendToUser() | Broadcast():
                for post in self._posts:
                    if post.task.kind is ChildKind.SERVER and post.child is not None:
                        post.child.send(message)
            case _:
                pass

    def _ensure_keeper(self, store: StoreNamed) -> None:
        """Have a keeper for this store; another one, if the code names another store than before."""
        task = self._plan.keeper(store)
        if self._keeper is None:
            self._keeper = Post(task)
            self._start(self._keeper)
        elif self._keeper.task != task:
            self._keeper.task = task
            for keeper in self._keepers():
                keeper.retire()

    def _on_start(self, child: Child) -> None:
        self._ready = True
        if self._address is not None and child.kind is ChildKind.SERVER:
            log.info("the HTTP API is at %s", self._address)
            self._address = None
        for before in self._leaving:
            if before.task.name == child.task.name and before.end_by is None:
                before.retire()
        self._update_keeper()
        self._roll_next()

    def _update_keeper(self) -> None:
        for keeper in self._keepers():
            workers = [
                child for child in self._present() if child.kind is ChildKind.WORKER and child.worker is not None
            ]
            keeper.send(
                KeepLeases([LeasesKept(child.worker, child.pid) for child in workers if child.worker is not None])
            )
            for at, bury in self._burials:
                if at > self._keeper_updated_at:
                    keeper.send(bury)
            self._keeper_updated_at = time.monotonic()
            self._burials = [(at, bury) for at, bury in self._burials if self._keeper_updated_at - at < REMEMBER]

    # What the children are doing

    def _check_children(self) -> None:
        now = time.monotonic()
        check_now = now - self._checked_at >= CHECK_PACE
        self._checked_at = now if check_now else self._checked_at
        for post in self._all_posts():
            child = post.child
            if child is None:
                if self._ready and not (self._stopping and post is not self._keeper) and now >= post.start_at:
                    self._start(post)
                    if post is self._keeper:
                        self._keeper_updated_at = 0.0  # the one before may have died with work left
                        for outcomes in self._outcomes.values():  # before the deaths
                            for keeper in self._keepers():
                                keeper.send(outcomes)
                        self._update_keeper()
            elif child.kind is ChildKind.WORKER and not self._stopping and self._is_worn(child):
                self._replace(post)
        if now - self._states_read_at >= STATES_PACE[platform().proc]:
            self._states_read_at = now
            children = [*self._present(), *self._keepers()]
            states = process_states([child.pid for child in children])
            for child in children:
                self._check_if_stopped(child, states[child.pid], now)
        for child in self._present():
            if check_now:
                self._kill_if_hung(child, now)
            if child.end_by is not None and now >= child.end_by and not child.cut:
                log.warning("%s does not end; it is killed", child.task.name)
                child.cut_short()

    def _kill_if_hung(self, child: Child, now: float) -> None:
        overdue = [
            note.run_id for note in child.notes() if not note.returned and note.deadline and now > note.deadline + HUNG
        ]
        if overdue and not child.overdue:
            child.overdue = overdue
            log.error("%s: run %s outlasted its time and does not stop; it is killed", child.task.name, overdue[0])
            child.kill()

    def _check_if_stopped(self, child: Child, state: str, now: float) -> None:
        """Log that a child is stopped; kill it only if it blocks all writes. Else it may be continued later."""
        if state not in STOPPED:
            if child.stop_logged:
                log.info("%s (process %d) goes on", child.task.name, child.pid)
            child.stopped_at, child.stop_logged = None, False
            return
        if child.stopped_at is None:
            child.stopped_at = now
        if now - child.stopped_at >= STOPPED_FOR and not child.stop_logged:
            child.stop_logged = True
            what = "nobody can write to the store's file" if self._hinders(child) else "its runs go to others"
            stopped = "%s (process %d) is stopped (state %s), and %s; let it go on: kill -CONT %d"
            log.error(stopped, child.task.name, child.pid, state, what, child.pid)
        # State t is a debugger: leave it alone.
        if now - child.stopped_at >= HINDERS and state == "T" and not child.hindered and self._hinders(child):
            child.hindered = True
            killed = "%s (process %d) was stopped inside a write, which keeps all others from writing; it is killed"
            log.error(killed, child.task.name, child.pid)
            child.kill()

    def _hinders(self, child: Child) -> bool:
        """Whether it has the write lock of a SQLite file; the server of PostgreSQL ends such transactions itself."""
        store = None if self._keeper is None else self._keeper.task.store
        if store is None or store.file is None:
            return False
        return any(holder.pid == child.pid for holder in lock_holders(Path(store.file)))

    def _is_worn(self, child: Child) -> bool:
        plan = self._plan
        by_runs = plan.max_runs is not None and child.booked >= plan.max_runs
        # One that has done nothing yet would be followed by another of the same size.
        by_memory = plan.max_memory is not None and child.memory >= plan.max_memory and child.booked > 0
        if by_runs or by_memory:
            log.info("%s is replaced after %d runs, with %d MB", child.task.name, child.booked, child.memory >> 20)
        return by_runs or by_memory

    def _replace(self, post: Post) -> None:
        """The last one goes on until the next one has started: what was deployed may be broken. Then it lets its
        handlers end."""
        assert post.child is not None
        self._leaving.append(post.child)
        self._start(post)

    def _roll_next(self) -> None:
        """The next one to be replaced, once the one before has started."""
        if any(post.child is None or not post.child.started for post in self._posts):
            return
        if self._to_roll and not self._stopping:
            self._replace(self._to_roll.popleft())

    # The end of a child

    def _on_end(self, child: Child) -> None:
        while child.pipe.waits() and (message := child.pipe.receive()) is not None:  # its last ones
            self._on_message(child, message)
        code = child.exit_code() or 0
        post = next((post for post in self._all_posts() if post.child is child), None)
        orphaned = child.is_alive()  # then it is the process that it was forked from which has ended
        child.bury()
        if child.kind is ChildKind.WORKER and child.worker is not None and not child.ended_well:
            child.unreachable = child.unreachable or orphaned
            self._burials.append((time.monotonic(), self._judge(child, code)))
        if child in self._leaving:
            self._leaving.remove(child)
        if post is not None:
            post.child = None
            self._on_vacancy(post, child, code)
        self._update_keeper()

    def _judge(self, child: Child, code: int) -> Bury:
        verdict = DeathVerdict.BLAMED
        if child.overdue or child.unreachable or child.hindered:
            verdict = DeathVerdict.INNOCENT
        elif child.cut or code == FORCED:
            verdict = DeathVerdict.HANDED_BACK
        notes = child.notes()
        executing = [note.run_id for note in notes if not note.returned]
        returned = [note.run_id for note in notes if note.returned]
        self._name_dropped(child, returned)
        assert child.worker is not None
        return Bury(child.worker, how_it_ended(code), verdict, executing, child.overdue, returned)

    def _name_dropped(self, child: Child, returned: list[str]) -> None:
        """Name runs whose outcomes died with the worker. Handlers in processes of their own count as returned."""
        dropped = [run_id for run_id in returned if run_id not in child.handed_over]
        if dropped:
            text = "%s died before it could book or hand over the results of %d runs; they are executed again: %s"
            log.error(text, child.task.name, len(dropped), some_of(dropped))

    def _on_vacancy(self, post: Post, child: Child, code: int) -> None:
        if self._stopping:
            self._put_off(post, child.lived)
            return
        if not self._ready:
            self._error = self._error or WorkerError(f"{child.task.name} {how_it_ended(code)} as it started", 70)
            self._stopping = True
            return
        pause = self._put_off(post, child.lived)
        log.warning("%s %s; another is started in %.1f s", child.task.name, how_it_ended(code), pause)

    def _put_off(self, post: Post, lived: float) -> float:
        """When the next one is started, after one that lived so long; in how many seconds."""
        post.failures = next_failures(post.failures, lived)
        pause = wait_after(post.failures)
        post.start_at = time.monotonic() + pause
        return pause

    # Stop

    def _on_signal(self, number: int) -> None:
        if number == signal.SIGHUP:
            log.info("replacing the children, one after the other")
            self._to_roll = deque(reversed(self._posts))  # the server last: its successor finds new workers
            self._roll_next()
            return
        at_once = self._stopping
        if at_once:
            log.warning("stopping at once; what is running is handed back")
        else:
            log.info("stopping: handlers have %g s to end; a second signal stops at once", self._plan.grace)
        self._stopping = True
        self._end_by = 0.0 if at_once else time.monotonic() + self._plan.grace
        for child in self._present():
            child.retire(at_once=at_once)

    def _end_keeper(self) -> None:
        """Let the keeper book and give back what it has. For outcomes that it holds it has the rest of the grace."""
        for keeper in self._keepers():
            patience = max(self._end_by - time.monotonic(), 0.0) if self._outcomes else 0.0
            keeper.send(Stop(patience=patience))
            end = time.monotonic() + patience + KEEPER_ENDS
            while not wait([keeper.sentinel], 0) and time.monotonic() < end:
                wait([keeper.sentinel, self._signals.read_end], min(end - time.monotonic(), CHECK_PACE))
                self._receive(keeper)
                if self._signals.received():
                    keeper.send(Stop(at_once=True))
                    end = min(end, time.monotonic() + KEEPER_ENDS)
            self._receive(keeper)
            keeper.bury()
            assert self._keeper is not None
            self._keeper.child = None
        log_dropped((kept.run, kept.change) for message in self._outcomes.values() for kept in message.outcomes)

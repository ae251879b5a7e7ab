"""Main loop of the agent: polls, executes, reports; survives outages of the server, and stops without losing a run.

Every poll names the runs that it holds, and it holds a run until the server has taken its result. So a run whose
hand-out got lost is handed out again, and a result that was taken but not confirmed is sent again.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

from workbell.agent_program.backoff import FIRST, Backoff, Outage
from workbell.agent_program.commands import Command, run_command
from workbell.agent_program.handlers import Handlers
from workbell.agent_program.heartbeat import AgentHeartbeat
from workbell.agent_program.held_run import HeldRun, lease_time
from workbell.agent_program.refusals import Refused
from workbell.agent_program.report import result_of
from workbell.agent_program.server_connection import ServerConnection
from workbell.errors import (
    AgentNotFound,
    Forbidden,
    LeaseLost,
    RunNotFound,
    Unauthorized,
    WorkbellError,
)
from workbell.logs.exceptions import loggable
from workbell.logs.facts import run_facts
from workbell.model.agent import CAPACITY, Ending
from workbell.model.json_text import clean_text
from workbell.model.outcome import HANDED_BACK, EndedOutcome, Failed, Outcome, Raised
from workbell.process.verb_threads import on_own_thread
from workbell.remote.asking import call_of
from workbell.wire import agents
from workbell.wire.agents import HandedRun, PollBody

log = logging.getLogger("workbell.agent_program")

WAIT = 25.0  # seconds of a long poll
REPORT_PACE = 0.5  # seconds between two reports of progress
LAST = 5.0  # seconds for the last posts, when the agent stops
STUBBORN = 1.0  # seconds for a cancelled handler to end

NOT_OURS = (Unauthorized, Forbidden, AgentNotFound)  # the server does not know this agent


class Program:
    """One process of an agent."""

    def __init__(
        self,
        connection: ServerConnection,
        *,
        handlers: Handlers | None = None,
        commands: Mapping[str, Command] | None = None,
        folder: Path | None = None,
        capacity: int = 4,
        lease: float = 30.0,
        grace: float = 25.0,
        wait: float = WAIT,
        first_wait: float = FIRST,
        randomness: Random | None = None,
    ) -> None:
        self.session = secrets.token_hex(8)
        self._connection = connection
        self._handlers = handlers
        self._commands = dict(commands or {})
        self._folder = folder or Path.cwd()
        self._capacity = capacity
        self._lease = lease
        self._grace = grace
        self._wait = wait
        self._first_wait = first_wait
        self._random = randomness or Random()
        self._held_runs: dict[tuple[str, int], HeldRun] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Event()
        self._reported = asyncio.Event()
        self._stopping = asyncio.Event()
        self._hurry = asyncio.Event()
        self._give_up_at: float | None = None  # when the last posts must be done
        self._back = asyncio.Event()  # replaced each time the server can be reached again
        self._heartbeat = AgentHeartbeat(
            connection,
            self.session,
            lease,
            lambda: list(self._held_runs.values()),
            self._ask,
            self._on_reconnect,
        )
        self.jobs = sorted({*self._commands, *(handlers.names if handlers is not None else ())})

    # Run

    def stop(self) -> None:
        """From the event loop: take nothing more; the second time, wait for nothing."""
        if self._stopping.is_set():
            self._hurry.set()
        self._stopping.set()

    async def run(self) -> None:
        """Run until stopped, or until the server no longer knows the agent."""
        self._loop = asyncio.get_running_loop()
        self._heartbeat.start()
        reporting = asyncio.create_task(self._report_on_the_way())
        try:
            await self._poll_on()
        finally:
            await self._drain()
            reporting.cancel()
            await asyncio.gather(reporting, return_exceptions=True)
            self._heartbeat.stop()
            if self._handlers is not None:
                self._handlers.close()
            await self._connection.aclose()

    async def _poll_on(self) -> None:
        outage = self._outage("no poll got through")
        while not self._stopping.is_set():
            free = self._capacity - len(self._held_runs)
            if free <= 0:
                self._changed.clear()
                await self._unless_stopped(self._changed.wait())
                continue
            asked_at = lease_time()
            try:
                handed = await self._unless_stopped(self._poll(free, self.jobs, self._wait))
            except NOT_OURS:
                raise
            except WorkbellError as error:
                await self._unless_stopped(self._pause(outage.failed(error)))
                continue
            outage.over()
            for one in handed or ():
                self._begin(one, asked_at)
            if handed:
                self._heartbeat.expect(asked_at)

    async def _poll(self, capacity: int, jobs: list[str], wait: float) -> list[HandedRun]:
        body = PollBody(
            wait=wait,
            jobs=jobs,
            capacity=capacity,
            session=self.session,
            lease=self._lease,
            holding=[held.lease for held in self._held_runs.values()],
        )
        return (await self._connection.asend(call_of(agents.poll, body=body, patience=wait))).runs

    def _outage(self, what: str) -> Outage:
        return Outage(log, what, Backoff(self._random, self._first_wait))

    async def _pause(self, seconds: float) -> None:
        """Wait before the next try, at most until a heartbeat gets through again: results must arrive before the server
        gives the run to somebody else."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._back.wait()

    def _on_reconnect(self) -> None:
        """From the heartbeat thread: the server can be reached again."""
        with contextlib.suppress(RuntimeError):  # the loop is closed: the agent has stopped
            self._loop.call_soon_threadsafe(self._end_pauses)

    def _end_pauses(self) -> None:
        self._back.set()
        self._back = asyncio.Event()

    async def _unless_stopped(self, work: Any) -> Any:
        """The result of the work; None if the agent is stopped first."""
        task, stopping = asyncio.ensure_future(work), asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait([task, stopping], return_when=asyncio.FIRST_COMPLETED)
            return task.result() if task.done() else None
        finally:
            for one in (task, stopping):
                one.cancel()
            await asyncio.gather(task, stopping, return_exceptions=True)

    # Work

    def _begin(self, handed: HandedRun, asked_at: float) -> None:
        run = handed.value(f"session {self.session}", datetime.now(UTC))
        if (run.id, run.token) in self._held_runs:
            return  # the answer came late: it is being worked on
        for held in self._held_runs.values():
            if held.run.id == run.id:
                self._ask_here(held, None)  # under an older lease
        held = self._held_runs[run.id, run.token] = HeldRun(run, handed.handler, asked_at)
        held.on_report = self._on_report
        if handed.cancel is not None:
            held.mark(cancel=handed.cancel)
        task = asyncio.create_task(self._work(held))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _on_report(self) -> None:
        """From a handler's thread: there is progress or a log line."""
        self._loop.call_soon_threadsafe(self._reported.set)

    async def _work(self, held: HeldRun) -> None:
        rest: asyncio.Future[Outcome] | None = None
        try:
            try:
                outcome, rest = await self._execute(held)
            except Exception as error:  # noqa: BLE001  whatever it is, the run must be booked
                outcome = Raised(error)
            held.finished = not held.lost
            await self._settle(held, outcome)
            if rest is not None:
                await asyncio.wait([rest])  # its thread is still busy, and takes a slot
        finally:
            held.settled = True
            del self._held_runs[held.key]
            self._changed.set()

    async def _execute(self, held: HeldRun) -> tuple[Outcome, asyncio.Future[Outcome] | None]:
        job = held.run.job
        if lease_time() - held.renewed_at >= self._lease:
            # By our own clock it may be over: after a long poll it is not, after a suspend somebody else may have the
            # run. The server knows.
            await on_own_thread("heartbeat", self._heartbeat.beat)
        if held.stopping:
            return self._stopped(held), None
        command = self._commands.get(held.handler)
        if command is not None:
            outcome = await run_command(job, command, held.run, self._folder, held.stop)
            return outcome or self._stopped(held), None
        function = None if self._handlers is None else self._handlers.find(held.handler)
        if function is None or self._handlers is None:
            return HANDED_BACK, None
        if job != held.handler:
            function = function.named(job, held.run.options.timeout)
        ended = asyncio.wrap_future(self._handlers.start(held, function))
        limit = None if function.is_async or held.work is None else held.work.timeout
        return await self._await_handler(held, self._handlers, ended, limit, can_be_stopped=function.is_async)

    async def _await_handler(
        self,
        held: HeldRun,
        handlers: Handlers,
        ended: asyncio.Future[Outcome],
        limit: float | None,
        *,
        can_be_stopped: bool,
    ) -> tuple[Outcome, asyncio.Future[Outcome] | None]:
        """The outcome; and the future of a thread that still runs, as it cannot be stopped."""
        end = None if limit is None else self._loop.time() + limit
        while True:
            stop_asked = asyncio.ensure_future(held.stop.wait())
            both: list[asyncio.Future[Any]] = [ended, stop_asked]
            left = None if end is None else max(end - self._loop.time(), 0)
            await asyncio.wait(both, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            stop_asked.cancel()
            if ended.done():
                return ended.result(), None
            if not held.stop.is_set():
                return handlers.expire(held), ended
            held.stop.clear()  # noted; there may be more to come
            if held.release or held.lost:
                if can_be_stopped:
                    await asyncio.wait([ended], timeout=STUBBORN)
                return (ended.result(), None) if ended.done() else (HANDED_BACK, ended)

    def _stopped(self, held: HeldRun) -> Outcome:
        if held.cancel_reason is not None:
            return EndedOutcome(held.cancel_reason)
        return HANDED_BACK

    def _ask(self, held: HeldRun, cancel: str | None) -> None:
        """From the thread of the heartbeats."""
        held.mark(cancel=cancel, lost=cancel is None)
        with contextlib.suppress(RuntimeError):  # the loop is closed: the agent has stopped
            self._loop.call_soon_threadsafe(self._make_stop, held)

    def _ask_here(self, held: HeldRun, cancel: str | None, *, release: bool = False) -> None:
        held.mark(cancel=cancel, lost=cancel is None and not release, release=release)
        self._make_stop(held)

    def _make_stop(self, held: HeldRun) -> None:
        if held.lost and not held.settled:
            log.warning("run %s: its lease was lost; it is stopped", held.run.id, extra=run_facts(held.run))
        held.stop.set()
        if self._handlers is not None:
            self._handlers.stop(held)

    # Report

    async def _settle(self, held: HeldRun, outcome: Outcome) -> None:
        """Send the result of a run until the server takes it, or the lease is lost."""
        body = result_of(outcome, held.run.token, self.session)
        if isinstance(outcome, Raised):  # the server gets it as text; whether the run is tried again is decided there
            text, caught = f"run failed here: {held.run.job.replace('%', '%%')} (run %s)", loggable(outcome.error)
            log.warning(text, held.run.id, exc_info=caught, extra=run_facts(held.run))
        outage = self._outage(f"run {held.run.id}: its result was not taken")
        while not held.lost:
            try:
                await self._send_reports(held)
                await self._connection.asend(call_of(agents.result, held.run.id, body=body))
                held.settled = True
                outage.over()
                return
            except (LeaseLost, RunNotFound) as error:
                log.warning("run %s: its result is dropped: %s", held.run.id, error, extra=run_facts(held.run))
                return
            except NOT_OURS as error:
                log.error("run %s: its result cannot be sent: %s", held.run.id, error)
                return
            except Refused as error:
                if body.status is Ending.FAILED and body.reason == "result":
                    log.error("run %s: its result cannot be sent: %s", held.run.id, error)
                    return
                words = clean_text(f"The server refused its result: {error}", 2000)
                body = result_of(Failed(words, "result", final=True), held.run.token, self.session)
            except WorkbellError as error:
                pause = outage.failed(error)
                if self._give_up_at is not None and time.monotonic() + pause > self._give_up_at:
                    return
                await self._pause(pause)

    async def _send_reports(self, held: HeldRun) -> None:
        """Send progress and log lines; refused ones are dropped, the result is what counts."""
        async with held.sending:
            while (unsent := held.unsent(self.session)) is not None:
                try:
                    await self._connection.asend(call_of(agents.progress, held.run.id, body=unsent))
                except Refused as error:
                    log.warning("run %s: its progress was refused: %s", held.run.id, error)
                except WorkbellError:
                    held.put_back(unsent)
                    raise

    async def _report_on_the_way(self) -> None:
        outage = self._outage("no progress got through")
        while True:
            await self._reported.wait()
            self._reported.clear()
            pause = REPORT_PACE
            for held in list(self._held_runs.values()):
                if held.finished or held.lost:
                    continue
                try:
                    await self._send_reports(held)
                    outage.over()
                except LeaseLost:
                    self._ask_here(held, None)
                except WorkbellError as error:
                    pause = max(REPORT_PACE, outage.failed(error))
                    self._reported.set()
            await self._pause(pause)

    # Stop

    async def _drain(self) -> None:
        """Let handlers end within the grace; hand the rest back, with what the last poll may have brought."""
        self._stopping.set()
        if self._tasks:
            hurry = asyncio.ensure_future(self._hurry.wait())
            ending = asyncio.gather(*self._tasks, return_exceptions=True)
            both: list[asyncio.Future[Any]] = [hurry, ending]
            await asyncio.wait(both, timeout=self._grace, return_when=asyncio.FIRST_COMPLETED)
            hurry.cancel()
        self._give_up_at = time.monotonic() + LAST
        for held in list(self._held_runs.values()):
            if not held.settled:
                self._ask_here(held, None, release=True)
        if self._tasks:
            await asyncio.wait(list(self._tasks), timeout=LAST)
        await self._hand_back_strays()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _hand_back_strays(self) -> None:
        with contextlib.suppress(WorkbellError, TimeoutError):
            async with asyncio.timeout(LAST):
                for one in await self._poll(CAPACITY, [], 0):
                    body = result_of(HANDED_BACK, one.token, self.session)
                    await self._connection.asend(call_of(agents.result, one.id, body=body))

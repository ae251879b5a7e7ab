"""The agent's program: polls, works, tells; goes on when the line breaks, and stops without dropping anything.

Whatever it holds it names in every poll, and it holds a run until the server has taken what came of it. So a run whose
handing out got lost comes again, and a result that was taken but not confirmed is told again.
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

import msgspec

from workbell.agent_program.backoff import FIRST, Backoff, Outage
from workbell.agent_program.commands import Command, run_command
from workbell.agent_program.handlers import Handlers
from workbell.agent_program.heartbeat import AgentHeartbeat
from workbell.agent_program.held_run import Hand, Handed, run_of
from workbell.agent_program.report import report_of
from workbell.agent_program.server_connection import Refused, ServerConnection, ThreadLine
from workbell.errors import (
    AgentNotFound,
    Forbidden,
    LeaseLost,
    RunNotFound,
    ServiceUnavailable,
    Unauthorized,
    WorkbellError,
)
from workbell.logs.facts import run_facts
from workbell.model.outcome import HANDED_BACK, EndedOutcome, Failed, Outcome, Raised
from workbell.model.payload import clean_text

log = logging.getLogger("workbell.agent_program")

WAIT = 25.0  # seconds of a long poll
TELL = 0.5  # between two posts about the progress of runs
LAST = 5.0  # seconds for the last posts, when the agent stops
STUBBORN = 1.0  # for a cancelled handler to give up

NOT_OURS = (Unauthorized, Forbidden, AgentNotFound)  # the server says that this is no agent of its own


class Program:
    """One process of an agent."""

    def __init__(
        self,
        line: ServerConnection,
        thread_line: ThreadLine,
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
        self._line = line
        self._handlers = handlers
        self._commands = dict(commands or {})
        self._folder = folder or Path.cwd()
        self._capacity = capacity
        self._lease = lease
        self._grace = grace
        self._wait = wait
        self._first_wait = first_wait
        self._random = randomness or Random()
        self._hands: dict[tuple[str, int], Hand] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Event()
        self._news = asyncio.Event()
        self._stopping = asyncio.Event()
        self._hurry = asyncio.Event()
        self._give_up_at: float | None = None  # when the last posts must be done
        self._back = asyncio.Event()  # is replaced each time that the line is good again
        self._heartbeat = AgentHeartbeat(
            thread_line, self.session, lease, lambda: list(self._hands.values()), self._ask, self._hear_back
        )
        self.jobs = sorted({*self._commands, *(handlers.names if handlers is not None else ())})

    # Run

    def stop(self) -> None:
        """From the event loop: take nothing more; the second time, wait for nothing."""
        if self._stopping.is_set():
            self._hurry.set()
        self._stopping.set()

    async def run(self) -> None:
        """Until it is stopped, or the server does not know the agent any more."""
        self._loop = asyncio.get_running_loop()
        self._heartbeat.start()
        telling = asyncio.create_task(self._tell_news())
        try:
            await self._poll_on()
        finally:
            await self._drain()
            telling.cancel()
            await asyncio.gather(telling, return_exceptions=True)
            self._heartbeat.stop()
            if self._handlers is not None:
                self._handlers.close()
            await self._line.close()

    async def _poll_on(self) -> None:
        outage = self._outage("no poll got through")
        while not self._stopping.is_set():
            free = self._capacity - len(self._hands)
            if free <= 0:
                self._changed.clear()
                await self._unless_stopped(self._changed.wait())
                continue
            asked_at = time.monotonic()
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

    async def _poll(self, capacity: int, jobs: list[str], wait: float) -> list[Handed]:
        body = {
            "wait": wait,
            "jobs": jobs,
            "capacity": capacity,
            "session": self.session,
            "lease": self._lease,
            "holding": [{"id": run_id, "token": token} for run_id, token in self._hands],
        }
        answer = await self._line.post("/agents/self/poll", body, wait=wait)
        try:
            return msgspec.convert(answer["runs"], list[Handed])
        except (msgspec.ValidationError, KeyError, TypeError) as error:
            raise ServiceUnavailable(f"The answer to a poll cannot be read: {error}.") from error

    def _outage(self, what: str) -> Outage:
        return Outage(log, what, Backoff(self._random, self._first_wait))

    async def _pause(self, seconds: float) -> None:
        """Wait before a next try, but no longer than until a heartbeat has found the line to be good again: what comes
        of a run must be there before the server gives it to somebody else."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._back.wait()

    def _hear_back(self) -> None:
        """From the thread of the heartbeats: the line is good again."""
        with contextlib.suppress(RuntimeError):  # the loop is closed: the agent has stopped
            self._loop.call_soon_threadsafe(self._end_pauses)

    def _end_pauses(self) -> None:
        self._back.set()
        self._back = asyncio.Event()

    async def _unless_stopped(self, work: Any) -> Any:
        """What comes of it; none, if the agent is stopped first."""
        task, stopping = asyncio.ensure_future(work), asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait([task, stopping], return_when=asyncio.FIRST_COMPLETED)
            return task.result() if task.done() else None
        finally:
            for one in (task, stopping):
                one.cancel()
            await asyncio.gather(task, stopping, return_exceptions=True)

    # Work

    def _begin(self, handed: Handed, asked_at: float) -> None:
        run = run_of(handed, f"session {self.session}", datetime.now(UTC))
        if (run.id, run.token) in self._hands:
            return  # the answer came late: it is being worked on
        for hand in self._hands.values():
            if hand.run.id == run.id:
                self._ask_here(hand, None)  # under an older lease
        hand = self._hands[run.id, run.token] = Hand(run, asked_at)
        hand.told = self._hear
        if handed.cancel is not None:
            hand.mark(cancel=handed.cancel)
        task = asyncio.create_task(self._work(hand))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _hear(self) -> None:
        """From a handler's thread: there is news."""
        self._loop.call_soon_threadsafe(self._news.set)

    async def _work(self, hand: Hand) -> None:
        rest: asyncio.Future[Outcome] | None = None
        try:
            try:
                outcome, rest = await self._execute(hand)
            except Exception as error:  # noqa: BLE001  whatever it is, the run must be booked
                outcome = Raised(error)
            hand.finished = not hand.lost
            await self._settle(hand, outcome)
            if rest is not None:
                await asyncio.wait([rest])  # its thread is still busy, and takes a place
        finally:
            hand.settled = True
            del self._hands[hand.key]
            self._changed.set()

    async def _execute(self, hand: Hand) -> tuple[Outcome, asyncio.Future[Outcome] | None]:
        job = hand.run.job
        if hand.stopping:
            return self._stopped(hand), None
        command = self._commands.get(job)
        if command is not None:
            outcome = await run_command(job, command, hand.run, self._folder, hand.stop)
            return outcome or self._stopped(hand), None
        function = None if self._handlers is None else self._handlers.find(job)
        if function is None or self._handlers is None:
            return HANDED_BACK, None
        ended = asyncio.wrap_future(self._handlers.start(hand, function))
        limit = None if function.is_async or hand.work is None else hand.work.timeout
        return await self._await_handler(hand, self._handlers, ended, limit, can_be_stopped=function.is_async)

    async def _await_handler(
        self,
        hand: Hand,
        handlers: Handlers,
        ended: asyncio.Future[Outcome],
        limit: float | None,
        *,
        can_be_stopped: bool,
    ) -> tuple[Outcome, asyncio.Future[Outcome] | None]:
        """What came of it; and, where a thread cannot be stopped, what is still going on."""
        end = None if limit is None else self._loop.time() + limit
        while True:
            asked = asyncio.ensure_future(hand.stop.wait())
            both: list[asyncio.Future[Any]] = [ended, asked]
            left = None if end is None else max(end - self._loop.time(), 0)
            await asyncio.wait(both, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            asked.cancel()
            if ended.done():
                return ended.result(), None
            if not hand.stop.is_set():
                return handlers.expire(hand), ended
            hand.stop.clear()  # noted; there may be more to come
            if hand.release or hand.lost:
                if can_be_stopped:
                    await asyncio.wait([ended], timeout=STUBBORN)
                return (ended.result(), None) if ended.done() else (HANDED_BACK, ended)

    def _stopped(self, hand: Hand) -> Outcome:
        if hand.cancel_reason is not None:
            return EndedOutcome(hand.cancel_reason)
        return HANDED_BACK

    def _ask(self, hand: Hand, cancel: str | None) -> None:
        """From the thread of the heartbeats."""
        hand.mark(cancel=cancel, lost=cancel is None)
        with contextlib.suppress(RuntimeError):  # the loop is closed: the agent has stopped
            self._loop.call_soon_threadsafe(self._make_stop, hand)

    def _ask_here(self, hand: Hand, cancel: str | None, *, release: bool = False) -> None:
        hand.mark(cancel=cancel, lost=cancel is None and not release, release=release)
        self._make_stop(hand)

    def _make_stop(self, hand: Hand) -> None:
        if hand.lost and not hand.settled:
            log.warning("run %s: its lease was lost; it is stopped", hand.run.id, extra=run_facts(hand.run))
        hand.stop.set()
        if self._handlers is not None:
            self._handlers.stop(hand)

    # Tell

    async def _settle(self, hand: Hand, outcome: Outcome) -> None:
        """Tell what came of a run until that is taken, or the run is not ours any more."""
        body = {**report_of(outcome), "token": hand.run.token, "session": self.session}
        outage = self._outage(f"run {hand.run.id}: its result was not taken")
        while not hand.lost:
            try:
                await self._send_news(hand)
                _check_taken(await self._line.post(f"/agents/self/runs/{hand.run.id}/result", body))
                hand.settled = True
                outage.over()
                return
            except (LeaseLost, RunNotFound) as error:
                log.warning("run %s: what came of it is dropped: %s", hand.run.id, error, extra=run_facts(hand.run))
                return
            except NOT_OURS as error:
                log.error("run %s: its result cannot be told: %s", hand.run.id, error)
                return
            except Refused as error:
                if body["status"] == "failed" and body.get("reason") == "result":
                    log.error("run %s: its result cannot be told: %s", hand.run.id, error)
                    return
                words = clean_text(f"What came of it was refused by the server: {error}", 2000)
                failed = report_of(Failed(words, "result", final=True))
                body = {**failed, "token": hand.run.token, "session": self.session}
            except WorkbellError as error:
                pause = outage.failed(error)
                if self._give_up_at is not None and time.monotonic() + pause > self._give_up_at:
                    return
                await self._pause(pause)

    async def _send_news(self, hand: Hand) -> None:
        """What it tells on its way; a line that is refused is left out, the result is what counts."""
        async with hand.sending:
            while (news := hand.news()) is not None:
                body = {**news, "token": hand.run.token, "session": self.session}
                try:
                    _check_taken(await self._line.post(f"/agents/self/runs/{hand.run.id}/progress", body))
                except Refused as error:
                    log.warning("run %s: its progress was refused: %s", hand.run.id, error)
                except WorkbellError:
                    hand.put_back(news)
                    raise

    async def _tell_news(self) -> None:
        outage = self._outage("no progress got through")
        while True:
            await self._news.wait()
            self._news.clear()
            pause = TELL
            for hand in list(self._hands.values()):
                if hand.finished or hand.lost:
                    continue
                try:
                    await self._send_news(hand)
                    outage.over()
                except LeaseLost:
                    self._ask_here(hand, None)
                except WorkbellError as error:
                    pause = max(TELL, outage.failed(error))
                    self._news.set()
            await self._pause(pause)

    # Stop

    async def _drain(self) -> None:
        """Let what is running end, for a while; hand the rest back; and what the last poll may have brought as well."""
        self._stopping.set()
        if self._tasks:
            hurry = asyncio.ensure_future(self._hurry.wait())
            ending = asyncio.gather(*self._tasks, return_exceptions=True)
            both: list[asyncio.Future[Any]] = [hurry, ending]
            await asyncio.wait(both, timeout=self._grace, return_when=asyncio.FIRST_COMPLETED)
            hurry.cancel()
        self._give_up_at = time.monotonic() + LAST
        for hand in list(self._hands.values()):
            if not hand.settled:
                self._ask_here(hand, None, release=True)
        if self._tasks:
            await asyncio.wait(list(self._tasks), timeout=LAST)
        await self._hand_back_strays()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _hand_back_strays(self) -> None:
        with contextlib.suppress(WorkbellError, TimeoutError):
            async with asyncio.timeout(LAST):
                body = {"status": "released", "session": self.session}
                for one in await self._poll(100, [], 0):
                    path = f"/agents/self/runs/{one.id}/result"
                    await self._line.post(path, {**body, "token": one.token})


def _check_taken(answer: Any) -> None:
    """Raise unless the server itself says that it has what was posted."""
    if not isinstance(answer, dict) or not isinstance(answer.get("taken"), bool):
        raise ServiceUnavailable("The answer to a report cannot be read; is this a Workbell?")

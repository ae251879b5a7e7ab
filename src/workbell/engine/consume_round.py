"""One round of work: a worker that claims until nothing is left, then ends; and the answer for each of its runs."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

import msgspec

from workbell.claims.claiming import Claimant, Claims
from workbell.engine.claim_hints import ClaimHints
from workbell.engine.consume import serves
from workbell.engine.duty import DutyThread
from workbell.engine.hand_back import paused
from workbell.engine.handler_processes.entry import Entry
from workbell.engine.held_runs import HeldRuns
from workbell.engine.role import Role
from workbell.engine.worker_half import WorkerHalf
from workbell.model.ids import id_of, new_id
from workbell.model.job import job_disabled
from workbell.model.one_shot import Answer, Consumed, ConsumedRun
from workbell.model.run import Lane, Run, Status
from workbell.model.state import Move
from workbell.notices.bus import Notice
from workbell.process.identity import process_name
from workbell.runs.runtime import Runtime
from workbell.settings import Settings

log = logging.getLogger("workbell.engine")

SOON = 5.0  # seconds until another try, for a run that a limit holds up, or that was handed back before it began
LATER = 60.0  # for one that is paused, or had begun: another try may be cut short as well
TRIES = 3  # claims that may fail one after the other; then the error is the caller's
ENDS = tuple(move for move in Move if move not in (Move.START, Move.DISPATCH))


class RoundClaims:
    """Claims of one round, up to a limit. The round is over when a claim finds nothing while no run is held."""

    def __init__(self, claims: Claims, limit: int) -> None:
        self._claims = claims
        self._left = limit
        self.held: HeldRuns | None = None
        self.taken: dict[str, Run] = {}  # by id, in the order of their claims
        self.over = False
        self.error: Exception | None = None  # of the last claim
        self._failed = 0

    exhausted = guessed = False  # the round ends by a claim that finds nothing

    def forget_survey(self, *, lone: bool = False) -> None:
        self._claims.forget_survey()

    @property
    def free_at(self) -> datetime | None:
        return self._claims.free_at

    def claim(self, claimant: Claimant, limit: int, now: datetime, slots: int | None = None) -> list[Run]:
        assert self.held is not None
        is_idle = not self.held  # before: what ends meanwhile may have enqueued something
        try:
            runs = self._claims.claim(claimant, min(limit, self._left), now, slots) if self._left > 0 else []
        except Exception as error:
            self.error = error
            self._failed += 1
            self._end(is_idle and self._failed >= TRIES)
            raise
        self.error, self._failed = None, 0
        self.taken |= {run.id: run for run in runs}
        self._left -= len(runs)
        self._end(is_idle and not runs)
        return runs

    def _end(self, over: bool) -> None:
        if over and self.held is not None:
            self.over = True
            self.held.notify()


class ConsumeRound:
    """`ids`: claim just these runs; each answer names the id that was given. `load` is called on a thread, before
    anything is claimed."""

    def __init__(
        self,
        runtime: Runtime,
        settings: Settings,
        *,
        claims: Callable[[Sequence[str] | None], Claims],
        ids: Sequence[str] | None,
        limit: int,
        seconds: float,
        load: Callable[[], None],
        isolated: Callable[[], Entry],
        apart: Callable[[], bool],
    ) -> None:
        self._runtime = runtime
        self._settings = settings
        self._ids = ids
        self._claims = RoundClaims(claims(ids), limit)
        self._concurrency = min(limit, settings.concurrency)
        self._seconds = seconds
        self._load = load
        self._isolated = isolated
        self._apart = apart
        self._half: WorkerHalf | None = None
        self._stopped = False
        self._ended: dict[str, Notice] = {}

    async def run(self) -> Consumed:
        """Work on this event loop; the waiting is done on a thread. A cancelled call hands its runs back first."""
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(1, thread_name_prefix="workbell-round") as thread:
            working = loop.run_in_executor(thread, self._work, loop)
            try:
                return await asyncio.shield(working)
            except asyncio.CancelledError:
                self.stop()
                await asyncio.wait([working])
                raise

    def stop(self) -> None:
        """Hand back what has not ended, from any thread; `run` returns."""
        self._stopped = True
        if self._half is not None:
            self._half.held.notify()

    def _work(self, loop: asyncio.AbstractEventLoop) -> Consumed:
        clock = self._runtime.store.clock
        end = clock.monotonic() + self._seconds
        self._load()
        self._runtime.registry.worker_start.call_once()
        self._runtime.definitions.expire()  # a message may be about one that was made a moment ago
        housekeeping = threading.Event()
        half = WorkerHalf(
            self._runtime,
            self._claims,
            None,
            self._settings,
            Role(concurrency=self._concurrency, schedules=False),
            f"{process_name()}/{new_id()[-12:]}",
            loop,
            hints=ClaimHints(),
            housekeeping=housekeeping,
            entry=self._isolated,
            apart=self._apart(),
        )
        held = self._claims.held = half.held
        self._half = half
        threads = [DutyThread(half.chores, "housekeeping", housekeeping), *half.threads]
        unsubscribe = self._runtime.publisher.bus.subscribe(self._note, ENDS)
        try:
            for thread in threads:
                thread.start()
            held.wait_until(
                lambda: self._stopped or self._claims.over or (held.drained and not held), end - clock.monotonic()
            )
            half.limit_stop(0.0)
            half.finish_work()
        finally:
            for thread in reversed(threads):
                thread.stop()
            half.close()
            unsubscribe()
        if self._claims.error is not None and not self._claims.taken:
            raise self._claims.error
        unfinished = [notice.run.id for notice in self._ended.values() if _is_unfinished(notice)]
        if unfinished:
            text = "handed back (%s): %s; give consume more seconds, or these jobs a worker"
            log.warning(text, self._why_over, ", ".join(unfinished[:5]))
        return Consumed(tuple(self._answers()))

    def _note(self, notices: Sequence[Notice]) -> None:
        """Remember how the runs of this round ended, by the moves that were written under its leases."""
        taken = self._claims.taken
        for notice in notices:
            before = taken.get(notice.run.id)
            if before is not None and before.token == notice.run.token:
                self._ended[notice.run.id] = notice

    @property
    def _why_over(self) -> str:
        return "stopped" if self._stopped else f"not ended after {self._seconds:g} s"

    # Answers

    def _answers(self) -> list[ConsumedRun]:
        asked = {given: id_of(given) for given in (self._claims.taken if self._ids is None else self._ids)}
        left = [run_id for run_id in asked.values() if run_id not in self._ended]
        store = self._runtime.store
        found = store.runs.find(left) if left else {}
        is_paused = paused(store) if any(run.status is Status.QUEUED for run in found.values()) else None
        answers = [
            self._answer_of_end(self._ended[run_id])
            if run_id in self._ended
            else self._answer_of_other(run_id, found.get(run_id), is_paused)
            for run_id in asked.values()
        ]
        return [msgspec.structs.replace(answer, run=given) for given, answer in zip(asked, answers, strict=True)]

    def _answer_of_end(self, notice: Notice) -> ConsumedRun:
        run = notice.run
        if notice.move is Move.SNOOZE and notice.ended is None:  # its window is closed: it is sent again at the opening
            return ConsumedRun(run.id, Answer.IGNORED, run.status, run.reason)
        if notice.move is not Move.RELEASE:
            return ConsumedRun(run.id, Answer.DONE, run.status)
        if _is_unfinished(notice):
            return ConsumedRun(run.id, Answer.RETRY, run.status, f"handed back: {self._why_over}", LATER)
        return ConsumedRun(run.id, Answer.RETRY, run.status, "handed back", SOON)

    def _answer_of_other(self, run_id: str, run: Run | None, is_paused: Callable[[Lane], bool] | None) -> ConsumedRun:
        """A run that this round did not execute, or whose lease it lost."""
        if run is None:
            return ConsumedRun(run_id, Answer.IGNORED, None, "there is no such run")
        match run.status:
            case Status.SCHEDULED:
                wait = (run.scheduled_for - self._runtime.store.clock.now()).total_seconds()
                return ConsumedRun(run_id, Answer.RETRY, run.status, "not due yet", round(max(wait, SOON), 3))
            case Status.QUEUED if not serves(self._runtime.registry, None)(run.lane):
                definition = self._runtime.definitions.find(run.tenant, run.job)
                is_disabled = definition is not None and not definition.enabled
                reason = job_disabled(run.job) if is_disabled else f"job {run.job!r} is not served here"
                return ConsumedRun(run_id, Answer.IGNORED, run.status, reason)
            case Status.QUEUED if is_paused is not None and is_paused(run.lane):
                return ConsumedRun(run_id, Answer.RETRY, run.status, "paused", LATER)
            case Status.QUEUED:
                return ConsumedRun(run_id, Answer.RETRY, run.status, "a limit is reached, or time was up", SOON)
            case Status.RUNNING:
                return ConsumedRun(run_id, Answer.IGNORED, run.status, "another worker has it")
            case Status.SUCCEEDED | Status.FAILED | Status.CANCELED:
                return ConsumedRun(run_id, Answer.IGNORED, run.status, "it has ended")


def _is_unfinished(notice: Notice) -> bool:
    """Whether a handler had begun, and had not ended when it was handed back."""
    return notice.move is Move.RELEASE and notice.ended is not None

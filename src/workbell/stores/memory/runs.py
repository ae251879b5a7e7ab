"""Runs in dicts, moved by the same transitions as in a database."""

from __future__ import annotations

import builtins
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from random import sample
from typing import Any

import msgspec

from workbell.errors import WrongConnection
from workbell.model import state as moves
from workbell.model.clock import EPOCH
from workbell.model.run import PENDING, Added, Attempt, NewRun, OnDuplicate, Run, Status
from workbell.model.state import Transition
from workbell.stores.allotment import LaneRank, allot
from workbell.stores.matching import matches
from workbell.stores.memory.limits import MemoryLimits
from workbell.stores.memory.state import State
from workbell.stores.port import MOST_ATTEMPTS, Filter, Head, Held, Lease, LeaseTerms, LimitsOfLanes, Pick, Renewed
from workbell.stores.publisher import Pair
from workbell.stores.runs.adding import SAME_KEY, SAME_TAG, refuse_other_request, reject_duplicate
from workbell.stores.runs.chosen_ids import refuse_taken_id, without_repeats
from workbell.stores.runs.moving import REPORTED

replace = msgspec.structs.replace


class MemoryRuns:
    """The part `runs`."""

    def __init__(self, state: State, limits: MemoryLimits, wake: Callable[[], None]) -> None:
        self._state = state
        self._limits = limits
        self._wake = wake

    # Adding

    def add(self, new: Sequence[NewRun], *, hint: bool = True) -> builtins.list[Added]:
        without_repeats(new)  # refuses two requests under one chosen id
        with self._state.writing() as replaced:
            added = [self.add_one(request, replaced) for request in new]
        if hint:
            self._wake()
        return added

    def add_one(self, request: NewRun, replaced: builtins.list[Pair]) -> Added:
        """Make a run within a write; the runs that it replaces are put into the list."""
        run, keys = request.run, self._state.keys
        if request.chosen and (made := self.find([run.id]).get(run.id)) is not None:
            refuse_taken_id(request, made.tenant, made.options_text)
            return Added(run.id, False)
        if request.replace_tag:
            of_tag = [old for old in self._in(*PENDING) if (old.tenant, old.tag) == (run.tenant, run.tag)]
            self._make_room(of_tag, run, SAME_TAG, replaced)
        if run.key_text is not None:
            holder, until = keys.get((run.tenant, run.key_text), (None, None))
            if request.on_duplicate is OnDuplicate.REPLACE and holder is not None:
                old = self._state.live.get(holder)
                self._make_room([old] if old and old.status in PENDING else [], run, SAME_KEY, replaced)
            elif holder is not None and (until is None or until > run.created_at):
                added = Added(holder, False)
                reject_duplicate(request, added)
                if (old := self.find([holder]).get(holder)) is not None:
                    refuse_other_request(request, holder, old.options_text)
                return added
            span = request.key_span
            keys[run.tenant, run.key_text] = (run.id, None if span is None else run.created_at + span)
        self._state.live[run.id] = run
        return Added(run.id, True)

    def _make_room(self, pending: Iterable[Run], new: Run, why: str, replaced: builtins.list[Pair]) -> None:
        keep = self._state.keep
        self.end([(run, moves.replace(run, new.created_at, by=new, why=why, keep=keep)) for run in pending], replaced)

    def end(self, pairs: Sequence[Pair], replaced: builtins.list[Pair]) -> None:
        """End runs that new ones replace, within a write."""
        replaced += [pair for pair in self._state.publisher.publish(pairs) if self._move(pair[1])]

    def add_on(self, connection: Any, new: Sequence[NewRun]) -> builtins.list[Added]:
        raise WrongConnection("connection=: the memory store has no database; use a sqlite:// or postgresql:// URL.")

    async def aadd_on(self, connection: Any, new: Sequence[NewRun]) -> builtins.list[Added]:
        return self.add_on(connection, new)

    # Claiming

    def dispatch(self, now: datetime, limit: int) -> builtins.list[str]:
        with self._state.lock:
            due = [run for run in self._in(Status.SCHEDULED) if run.scheduled_for <= now]
            due.sort(key=lambda run: run.scheduled_for)
            return [run.id for run in due[:limit] if self._move(moves.dispatch(run, now))]

    def survey(self, after: int, limit: int) -> builtins.list[Head]:
        return [head for head in self._heads() if head.lane_id > after][:limit]

    def survey_tenant(self, tenant: str, limit: int, targets: Sequence[str] | None = None) -> builtins.list[Head]:
        found = [head for head in self._heads() if head.lane.tenant == tenant]
        if targets is None:
            return [*{head.lane_id: head for head in reversed(found)}.values()][:limit]
        aimed = [head for head in found if head.lane.target in targets]
        return sorted(aimed, key=lambda head: (head.rank, head.lane_id))[:limit]

    def _heads(self) -> builtins.list[Head]:
        every = {Head(run.lane.id, run.rank, run.lane) for run in self._in(Status.QUEUED)}
        return sorted(every, key=lambda head: (head.lane_id, head.rank))

    def claim(
        self, picks: Sequence[Pick], limit: int, terms: LeaseTerms, limits: LimitsOfLanes | None = None
    ) -> builtins.list[Run]:
        with self._state.lock:
            return self._claim(self._ready(terms.now), picks, limit, terms, limits)

    def take(
        self,
        ids: Sequence[str],
        terms: LeaseTerms,
        limits: LimitsOfLanes | None = None,
        *,
        lanes: Sequence[int] | None = None,
    ) -> builtins.list[Run]:
        with self._state.lock:
            ready = self._ready(terms.now)
            chosen = [run for run in ready if run.id in ids and (lanes is None or run.lane.id in lanes)]
            picks = [
                Pick(*lane_rank, count)
                for lane_rank, count in Counter((run.lane.id, run.rank) for run in chosen).items()
            ]
            return self._claim(chosen, picks, len(ids), terms, limits)

    def _claim(
        self,
        ready: Iterable[Run],
        picks: Sequence[Pick],
        limit: int,
        terms: LeaseTerms,
        limits: LimitsOfLanes | None,
    ) -> builtins.list[Run]:
        waiting: dict[LaneRank, builtins.list[Run]] = {}
        for run in ready:
            waiting.setdefault((run.lane.id, run.rank), []).append(run)
        if limits:
            now = max(terms.now, self._state.clock.now())  # a lease begins with its run
            terms = terms._replace(now=now, lease_until=terms.lease_until + (now - terms.now))
            uses = self._limits.uses([one for listed in limits.values() for one in listed])
            queued = {lane_rank: len(runs) for lane_rank, runs in waiting.items()}
            picks = allot(picks, limit, limits, uses, queued, terms.now)
            self._limits.note_starts(picks, limits, uses, terms.now)
        taken: builtins.list[Run] = []
        for pick in picks:
            taken += waiting.get((pick.lane_id, pick.rank), [])[: min(pick.quota, limit - len(taken))]
        taken.sort(key=lambda run: (run.rank, run.scheduled_for, run.id))
        return self._put(
            moves.start(run, terms.now, worker=terms.worker, lease_until=terms.lease_until, token=terms.token).after(
                run
            )
            for run in taken
        )

    def _ready(self, now: datetime) -> builtins.list[Run]:
        """Runs that could start now, in the order to be worked on."""
        ready = [run for run in self._in(Status.QUEUED) if not run.expires_at or run.expires_at > now or run.attempt]
        return sorted(ready, key=lambda run: (run.rank, run.scheduled_for, run.id))

    # Leases

    def renew(self, held: Sequence[Held], *, now: datetime, lease_until: datetime) -> builtins.list[Renewed]:
        with self._state.lock:
            good = [run for one in held if (run := self._held(one)) is not None and run.lease_until != EPOCH]
            self._put(replace(run, lease_until=lease_until) for run in good)
            return [Renewed(run.id, run.token, run.reason if run.cancel_requested else None) for run in good]

    def take_over(self, leases: Sequence[Lease], limit: int) -> builtins.list[Run]:
        with self._state.lock:
            found = [(self._held(Held(lease.run_id, lease.token)), lease) for lease in leases]
            good = [run for run, lease in found if run is not None and run.lease_until == lease.until]
            return self._put(replace(run, lease_until=EPOCH) for run in good[:limit])

    def _held(self, held: Held) -> Run | None:
        run = self._state.live.get(held.run_id)
        return run if run is not None and run.status is Status.RUNNING and run.token == held.token else None

    def mark_alone(self, held: Held) -> bool:
        return self._note(held, alone=True)

    def set_progress(self, held: Held, progress: str) -> bool:
        return self._note(held, progress_text=progress)

    def _note(self, held: Held, **changes: Any) -> bool:
        with self._state.lock:
            run = self._held(held)
            return run is not None and bool(self._put([replace(run, **changes)]))

    def request_cancel(self, run_id: str, reason: str) -> bool:
        with self._state.lock:
            run = self._state.live.get(run_id)
            if run is None or run.status is not Status.RUNNING:
                return False
            return bool(self._put([moves.ask_cancel(run, reason)]))

    def asked_to_end(self, ids: Collection[str]) -> set[str]:
        with self._state.lock:
            return {run.id for run in self._state.live.values() if run.cancel_requested and run.id in ids}

    # Moving

    def apply(self, transitions: Sequence[Transition], *, lock: float | None = None) -> set[str]:
        with self._state.writing() as replaced:
            asked = {run.id for run in self._state.live.values() if run.cancel_requested}
            moved = [change for change in transitions if self._move(change)]
            for change in moved:
                for new in change.then:
                    if change.run_id not in asked or new.run.rescheduled_from is None:  # a cancel ends a chain
                        self.add_one(new, replaced)
        return {change.run_id for change in moved}

    def _move(self, change: Transition) -> bool:
        """Write a transition if its guard holds. Its events are dropped: this store has no part for events."""
        run = self._state.live.get(change.run_id)
        if run is None or (run.status, run.token) != (change.expected, change.expected_token):
            return False
        if run.cancel_requested and not change.status.final:
            return False
        after = change.after(run)
        if change.status.final:
            del self._state.live[run.id]
            self._state.finished[run.id] = replace(after, alone=False, lease_until=None, suspect=False)
            if run.key_text is not None and self._state.keys.get((run.tenant, run.key_text)) == (run.id, None):
                del self._state.keys[run.tenant, run.key_text]
            self._report(after)
        else:
            self._put([after])
            if change.ended is not None:
                self._state.attempts[run.id] = (*self._state.attempts.get(run.id, ()), change.ended)
        return True

    def _report(self, run: Run) -> None:
        """Note in a schedule how its run ended."""
        schedule, word = self._state.schedules.get(run.schedule or ""), REPORTED.get(run.status)
        if schedule is None or word is None or run.finished_at is None:
            return
        schedule = replace(schedule, failed_runs=schedule.failed_runs + (word == "failed"))
        if schedule.last_run_ended_at is None or run.finished_at >= schedule.last_run_ended_at:
            schedule = replace(schedule, last_run_status=word, last_run_ended_at=run.finished_at)
        self._state.schedules[schedule.id] = schedule

    def restart_waits(self, now: datetime) -> bool:
        with self._state.lock:
            self._put([moves.restart_wait(run, now) for run in self._state.live.values()])
        return True

    def prune(self, now: datetime, limit: int) -> tuple[int, int]:
        """Remove runs and keys that are past their time; the number of each."""
        state = self._state
        with state.lock:
            every = state.finished.values()
            over = sorted((run.remove_at, run.id) for run in every if run.remove_at and run.remove_at <= now)[:limit]
            for _, run_id in over:
                run = state.finished[run_id]
                holder, until = state.keys.get((run.tenant, run.key_text or ""), (None, None))
                if holder == run_id and until is not None and until > now:
                    state.finished[run_id] = replace(run, remove_at=until)
                else:
                    del state.finished[run_id]
                    state.attempts.pop(run_id, None)
            held = sorted((until, key) for key, (_, until) in state.keys.items() if until is not None and until <= now)
            free = [key for _, key in held[:limit]]
            for key in free:
                del state.keys[key]
            return len(over), len(free)

    # Reading

    def find(self, ids: Iterable[str]) -> dict[str, Run]:
        with self._state.lock:
            every = self._state.live | self._state.finished
        return {run_id: every[run_id] for run_id in ids if run_id in every}

    def list(self, wanted: Filter) -> builtins.list[Run]:
        with self._state.lock:
            every = [*self._state.live.values(), *self._state.finished.values()]
        found = [run for run in every if matches(run, wanted)]
        return sorted(found, key=lambda run: run.id, reverse=True)[: wanted.limit]

    def attempts(self, run_id: str, *, after: int = 0, limit: int = MOST_ATTEMPTS) -> builtins.list[Attempt]:
        return [one for one in self._state.attempts.get(run_id, ()) if one.number > after][:limit]

    def pending(
        self,
        *,
        limit: int,
        accepted_by: str | None = None,
        queued_before: datetime | None = None,
    ) -> builtins.list[Run]:
        if queued_before is not None:
            waiting = self._in(Status.QUEUED)
            able = [run for run in waiting if run.updated_at < queued_before and run.lane.target is None]
            return sample(able, min(limit, len(able)))
        return [run for run in self._in(*PENDING) if run.accepted_by == accepted_by][:limit]

    def accepting(self) -> builtins.list[str]:
        return sorted({run.accepted_by for run in self._in(*Status) if run.accepted_by is not None})

    def held_by(self, worker: str) -> builtins.list[Run]:
        return [run for run in self._in(Status.RUNNING) if run.worker == worker]

    def leases_of(self, workers: Collection[str]) -> builtins.list[Lease]:
        every = [(run, run.lease_until) for run in self._in(Status.RUNNING) if run.worker in workers]
        return [Lease(run.id, run.token, until, run.worker) for run, until in every if until is not None]

    def leases(self, before: datetime, beyond: datetime | None = None) -> builtins.list[Lease]:
        every = [(run, run.lease_until) for run in self._in(Status.RUNNING)]
        return [
            Lease(run.id, run.token, until, run.worker)
            for run, until in every
            if until is not None and (until <= before or (beyond is not None and until > beyond))
        ]

    def expired(self, now: datetime, limit: int) -> builtins.list[Run]:
        unstarted = [run for run in self._in(*PENDING) if not run.attempt]
        return [run for run in unstarted if run.expires_at is not None and run.expires_at <= now][:limit]

    def next_due(self, after: datetime | None = None) -> datetime | None:
        times = [run.scheduled_for for run in self._in(Status.SCHEDULED)]
        return min((at for at in times if after is None or at > after), default=None)

    def _in(self, *statuses: Status) -> builtins.list[Run]:
        with self._state.lock:
            return [run for run in self._state.live.values() if run.status in statuses]

    def _put(self, runs: Iterable[Run]) -> builtins.list[Run]:
        changed = [*runs]
        self._state.live |= {run.id: run for run in changed}
        return changed

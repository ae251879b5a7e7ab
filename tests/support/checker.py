"""The checker: reads what processes recorded and everything the store holds, and lists what must not be.

It knows the promises, not the code: every rule is about facts that a user could find out. `tests/faults/
test_checker.py` plants a fault against each rule and sees it caught.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timedelta
from itertools import pairwise
from typing import NamedTuple

from workbell.errors import JobsError
from workbell.model.run import PENDING, Attempt, AttemptStatus, Run, Status, last_attempt
from workbell.model.schedule import Schedule, Tick, TickOutcome
from workbell.model.state import MOVES, Move
from workbell.scheduling.rule import rule_of
from workbell.stores.port import Store

from .recorder import Event

# Attempts that have rows of their own: those after which the run went on.
GOING_ON = {AttemptStatus.FAILED, AttemptStatus.LOST, AttemptStatus.RELEASED, AttemptStatus.SNOOZED}
MICROSECOND = timedelta(microseconds=1)
# What a worker can be told it did with a run that it held.
ENDINGS = {move.value for move in Move} - {Move.DISPATCH.value, Move.START.value}


class Violation(NamedTuple):
    """Something that must not be: which rule, about which run, and what was seen."""

    rule: str
    run: str
    seen: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.run}: {self.seen}"


class Snapshot(NamedTuple):
    """Everything a store holds, at a moment when nobody writes."""

    runs: Sequence[Run]
    attempts: Sequence[Attempt]
    schedules: Sequence[Schedule]
    ticks: Sequence[Tick]
    keys: Sequence[tuple[str, str, str, object]]

    def by_id(self) -> dict[str, Run]:
        """Finished rows win: a run that is there twice is another rule's concern."""
        return {run.id: run for run in sorted(self.runs, key=lambda run: run.status.final)}


def snapshot(store: Store) -> Snapshot:
    batches = list(store.export())
    return Snapshot(
        [run for batch in batches for run in batch.runs],
        [attempt for batch in batches for attempt in batch.attempts],
        [schedule for batch in batches for schedule in batch.schedules],
        [tick for batch in batches for tick in batch.ticks],
        [key for batch in batches for key in batch.keys],
    )


def check(
    store: Store, events: Sequence[Event], *, settled: bool = True, rules: Sequence[Rule] | None = None
) -> list[Violation]:
    """All violations. `settled`: nothing may be left to do, so every run must have ended."""
    held = snapshot(store)
    found = [violation for rule in rules or RULES for violation in rule(held, events)]
    if settled:
        found += [
            Violation("not ended", run.id, f"still {run.status} after everything had time to end")
            for run in held.runs
            if not run.status.final
        ]
    return found


def report(violations: Iterable[Violation]) -> str:
    """For an assertion's message: the first few of them."""
    listed = [str(violation) for violation in violations]
    return "\n".join([f"{len(listed)} violations", *listed[:20]])


def _acknowledged_exist(held: Snapshot, events: Sequence[Event]) -> Iterator[Violation]:
    known = held.by_id()
    for event in events:
        if event["kind"] == "acknowledged":
            for run_id in event["runs"]:
                if run_id not in known:
                    yield Violation("lost", run_id, f"acknowledged to process {event['pid']}, and nowhere in the store")


def _started_exist(held: Snapshot, events: Sequence[Event]) -> Iterator[Violation]:
    known = held.by_id()
    for run_id in {event["run"] for event in events if event["kind"] in ("started", "moved")}:
        if run_id not in known:
            yield Violation("lost", run_id, "was worked on, and is neither live nor in history")


def _in_one_place(held: Snapshot, _events: Sequence[Event]) -> Iterator[Violation]:
    places: dict[str, list[Status]] = defaultdict(list)
    for run in held.runs:
        places[run.id].append(run.status)
    for run_id, statuses in places.items():
        if len(statuses) > 1:
            yield Violation("twice", run_id, f"the store has it as {', '.join(statuses)}")


def _token_started_once(_held: Snapshot, events: Sequence[Event]) -> Iterator[Violation]:
    """One claim starts a handler once at the most."""
    yield from _double_starts(events, "token")


def _attempt_started_once(_held: Snapshot, events: Sequence[Event]) -> Iterator[Violation]:
    """An attempt's number names one start."""
    yield from _double_starts(events, "attempt")


def _double_starts(events: Sequence[Event], name: str) -> Iterator[Violation]:
    starts: dict[tuple[str, int], int] = defaultdict(int)
    for event in events:
        if event["kind"] == "started":
            starts[event["run"], event[name]] += 1
    for (run_id, number), count in starts.items():
        if count > 1:
            yield Violation("double start", run_id, f"{count} starts with {name} {number}")


def _tokens_are_new(held: Snapshot, events: Sequence[Event]) -> Iterator[Violation]:
    """Every lease of a run has another token, and an attempt keeps the one that its handler was called with."""
    called = {(event["run"], event["attempt"]): event["token"] for event in events if event["kind"] == "started"}
    tokens: dict[str, list[int]] = defaultdict(list)
    for attempt in held.attempts:
        tokens[attempt.run].append(attempt.token)
        if attempt.token != called.get((attempt.run, attempt.number), attempt.token):
            yield Violation("token", attempt.run, f"attempt {attempt.number} was called with another than its own")
    for run in held.by_id().values():
        last = last_attempt(run)
        seen = [*tokens[run.id], *([] if last is None else [last.token])]
        if len(set(seen)) < len(seen) or 0 in seen:
            yield Violation("token", run.id, f"tokens of its attempts: {seen}")


def _results_are_of_the_last_token(held: Snapshot, _events: Sequence[Event]) -> Iterator[Violation]:
    """Handlers return their own token; one that is not the run's last was written by a worker that had lost it."""
    for run in held.runs:
        told = run.result.get("token", run.token) if isinstance(run.result, dict) else run.token
        if run.status is Status.SUCCEEDED and told != run.token:
            yield Violation("stale write", run.id, f"result of token {told}, and the run's last token is {run.token}")


def _success_was_started(held: Snapshot, events: Sequence[Event]) -> Iterator[Violation]:
    starts = {(event["run"], event["token"]) for event in events if event["kind"] == "started"}
    recorded = {run_id for run_id, _ in starts}
    for run in held.runs:
        if run.status is Status.SUCCEEDED and run.id in recorded and (run.id, run.token) not in starts:
            yield Violation("stale write", run.id, f"succeeded under token {run.token}, which never started")


def _one_end_for_a_token(held: Snapshot, events: Sequence[Event]) -> Iterator[Violation]:
    """Of all writes under one token, one that ended the claim was accepted; and one ended the run."""
    accepted: dict[tuple[str, int], list[str]] = defaultdict(list)
    final: dict[str, list[str]] = defaultdict(list)
    for event in events:
        if event["kind"] == "moved" and event["move"] in ENDINGS:
            accepted[event["run"], event["token"]].append(event["move"])
            if Status(event["status"]).final:
                final[event["run"]].append(event["move"])
    for (run_id, token), moves in accepted.items():
        if len(moves) > 1:
            yield Violation("accepted twice", run_id, f"under token {token}: {', '.join(moves)}")
    for run_id, moves in final.items():
        if len(moves) > 1:
            yield Violation("accepted twice", run_id, f"it ended {len(moves)} times: {', '.join(moves)}")
    for run in held.runs:
        if run.id in final and not run.status.final:
            yield Violation("left its end", run.id, f"{final[run.id][0]} was accepted, and it is {run.status}")


def _moves_are_in_the_graph(held: Snapshot, events: Sequence[Event]) -> Iterator[Violation]:
    for event in events:
        if event["kind"] == "moved" and Status(event["status"]) not in MOVES[Move(event["move"])].targets:
            yield Violation("no such move", event["run"], f"{event['move']} to {event['status']}")
    for attempt in held.attempts:
        if attempt.status not in GOING_ON:
            yield Violation("no such move", attempt.run, f"attempt {attempt.number} went on after {attempt.status}")
    for run in held.runs:
        if (run.status is Status.RUNNING) != (run.lease_until is not None):
            yield Violation("no such state", run.id, f"{run.status} with a lease until {run.lease_until}")
        if run.status is Status.SUCCEEDED and not run.attempt:
            yield Violation("no such move", run.id, "succeeded without an attempt")


def _attempts_are_numbered(held: Snapshot, _events: Sequence[Event]) -> Iterator[Violation]:
    """Rows 1, 2, 3 … without gaps; the run itself is the last one, unless it waits or was ended while it waited."""
    numbers: dict[str, list[int]] = defaultdict(list)
    for attempt in held.attempts:
        numbers[attempt.run].append(attempt.number)
    for run in held.by_id().values():
        rows = sorted(numbers.get(run.id, []))
        with_rows = [run.attempt] if run.status in PENDING else [run.attempt - 1]
        if run.status is Status.CANCELED:
            with_rows.append(run.attempt)
        if rows != list(range(1, len(rows) + 1)) or len(rows) not in with_rows:
            yield Violation("attempts", run.id, f"{run.status}, attempt {run.attempt}, with rows {rows}")


def _ticks_match_runs(held: Snapshot, _events: Sequence[Event]) -> Iterator[Violation]:
    """Each tick that made a run has it, and each run of a schedule has its one tick. Re-runs are of no tick."""
    runs = held.by_id()
    ticks: dict[str, list[Tick]] = defaultdict(list)
    for tick in held.ticks:
        if tick.run is not None:
            if tick.outcome in (TickOutcome.FIRED, TickOutcome.DEFERRED):
                ticks[tick.run].append(tick)
            run = runs.get(tick.run)
            if run is None:
                yield Violation("tick", tick.run, f"the tick {tick.due} of {tick.schedule} has no run")
            elif run.schedule != tick.schedule:
                yield Violation("tick", tick.run, f"the tick is of {tick.schedule}, the run of {run.schedule}")
        elif tick.outcome in (TickOutcome.FIRED, TickOutcome.DEFERRED):
            yield Violation("tick", tick.schedule, f"the tick {tick.due} was {tick.outcome}, and names no run")
    for run in runs.values():
        made_by_tick = run.schedule is not None and run.retry_of is None and run.rescheduled_from is None
        if made_by_tick and len(ticks[run.id]) != 1:
            yield Violation("tick", run.id, f"a run of schedule {run.schedule} with {len(ticks[run.id])} ticks")


def _ticks_are_all_there(held: Snapshot, _events: Sequence[Event]) -> Iterator[Violation]:
    """P10: every tick from the declaration to where the scheduler stands is in one row, and no other is.

    A schedule that was changed or paused has had several rules; of it only that no tick is there twice can be said.
    """
    ledger: dict[str, list[Tick]] = defaultdict(list)
    for tick in held.ticks:
        ledger[tick.schedule].append(tick)
    for schedule in held.schedules:
        rows = sorted(ledger[schedule.id], key=lambda tick: tick.due)
        for earlier, later in pairwise(rows):
            if later.due <= (earlier.until or earlier.due):
                yield Violation("ledger", schedule.name, f"the tick {later.due} is in two rows")
        if schedule.last_scheduled_at is None or schedule.updated_at != schedule.created_at:
            continue
        try:
            timing = rule_of(schedule).timing
        except JobsError:
            continue
        for row in rows:
            last = row.until or row.due
            if row.due <= schedule.created_at or last > schedule.last_scheduled_at:
                yield Violation("ledger", schedule.name, f"the row of {row.due} is not of its time")
            if timing.latest(row.due) != row.due or timing.count(row.due - MICROSECOND, last) != row.count:
                yield Violation("ledger", schedule.name, f"the row of {row.due} to {last} does not count {row.count}")
        found = sum(row.count for row in rows) + (schedule.held_tick is not None)
        wanted = timing.count(schedule.created_at, schedule.last_scheduled_at)
        if found != wanted:
            yield Violation("ledger", schedule.name, f"{found} of {wanted} ticks have a fate")


def _tenants_are_apart(held: Snapshot, events: Sequence[Event]) -> Iterator[Violation]:
    runs = held.by_id()
    wanted = [(run, event["tenant"]) for event in events if event["kind"] == "acknowledged" for run in event["runs"]]
    wanted += [(event["run"], event["tenant"]) for event in events if event["kind"] == "started"]
    wanted += [(run_id, tenant) for tenant, _key, run_id, _until in held.keys]
    tenants = {schedule.id: schedule.tenant for schedule in held.schedules}
    for run in runs.values():
        wanted += [(link, run.tenant) for link in (run.retry_of, run.rescheduled_from) if link is not None]
        if run.schedule in tenants:
            wanted.append((run.id, tenants[run.schedule]))
    for run_id, tenant in dict.fromkeys(wanted):
        if run_id in runs and runs[run_id].tenant != tenant:
            yield Violation("tenant", run_id, f"belongs to {runs[run_id].tenant}, and {tenant} saw it")


Rule = Callable[[Snapshot, Sequence[Event]], Iterator[Violation]]

RULES: tuple[Rule, ...] = (
    _acknowledged_exist,
    _started_exist,
    _in_one_place,
    _token_started_once,
    _attempt_started_once,
    _tokens_are_new,
    _results_are_of_the_last_token,
    _success_was_started,
    _one_end_for_a_token,
    _moves_are_in_the_graph,
    _attempts_are_numbered,
    _ticks_match_runs,
    _ticks_are_all_there,
    _tenants_are_apart,
)

# Rules that hold also where the store has lost commits or went back: runs may be gone, and attempts counted again.
AFTER_A_STEP_BACK: tuple[Rule, ...] = (
    _in_one_place,
    _token_started_once,
    _results_are_of_the_last_token,
    _success_was_started,
    _attempts_are_numbered,
    _ticks_match_runs,
    _ticks_are_all_there,
    _tenants_are_apart,
)

"""Statements that write status transitions of runs, copy finished runs into history, and what depends on that.

A transition alone needs no guard: its statement moves the run if its condition holds, and the answer says so. Where
other writes depend on a move (a key that is freed, a schedule's report, an attempt, following runs, events), all of the
batch must move, or nothing of it is written: `apply` then reads which still can.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from operator import attrgetter

import msgspec

from workbell.model.run import FINAL, Status
from workbell.model.state import Transition
from workbell.stores.database import Dialect, Row, Rows, Statement
from workbell.stores.events.adding import add_events
from workbell.stores.rows import attempt_values
from workbell.stores.runs.adding import add_runs, taking_key

MOVED = (
    "run_id expected expected_token status scheduled_for updated_at attempt failures losses crashes alone worker "
    "lease_until started_at error reason suspect"
).split()
ATTEMPT = "run number status started_at finished_at worker error result token".split()
KEY = ("tenant", "key", "run")
REPORT = ("schedule", "last_run_status", "last_run_ended_at", "failed_runs")
REPORTED = {Status.SUCCEEDED: "success", Status.FAILED: "failed"}
FINISHES = frozenset({"finish", "finish_well"})
MOVES_RUNS = FINISHES | {"move"}  # their answers begin with the ids of runs that moved
RUN_ID = attrgetter("run_id")


def first_of_each(transitions: Sequence[Transition]) -> list[Transition]:
    """Of several transitions under one guard the first counts: a batch may bring the same one twice.

    In the order of ids: two writers of the same runs would deadlock otherwise.
    """
    if len({change.run_id for change in transitions}) == len(transitions):
        return sorted(transitions, key=RUN_ID)
    first: dict[tuple[str, str, int], Transition] = {}
    for change in transitions:
        first.setdefault((change.run_id, change.expected, change.expected_token), change)
    return sorted(first.values(), key=RUN_ID)


def has_company(change: Transition) -> bool:
    """Whether other writes depend on a move, so that it must be known to happen."""
    if change.key is None and change.schedule is None and change.ended is None:
        return bool(change.then or change.emits)
    return True


def moving(dialect: Dialect, changes: Sequence[Transition], *, whole: bool) -> list[Statement]:
    """The statements that write these transitions; `whole`: all of them, or none."""
    ending = [change for change in changes if change.status in FINAL]
    going_on = [change for change in changes if change.status not in FINAL]
    batch: list[Statement] = []
    chains = [change.run_id for change in changes if change.then and is_chain(change)]
    if chains:
        if not dialect.one_writer:  # else a cancel could be requested between this read and the end
            batch.append(Statement("lock_runs", {"ids": [change.run_id for change in changes]}))
        batch.append(Statement("asked_to_end", {"ids": chains, "yes": True}, exactly=0))
    if ending:
        batch += dialect.finish(ending, whole=whole)
    if going_on:
        rows = Rows(MOVED, [[getattr(change, name) for name in MOVED] for change in going_on])
        batch.append(Statement("move", {"rows": rows}, exactly=len(going_on) if whole else None))
    return batch + _company(changes, ending) if whole else batch


def moved(changes: Sequence[Transition], answers: Iterable[tuple[Statement, Sequence[Row]]]) -> set[str]:
    """Ids of the runs that these statements have moved. Of one that had to move all of its runs no answer is read."""
    found: set[str] = set()
    for statement, rows in answers:
        if statement.query not in MOVES_RUNS:
            continue
        if statement.exactly is None:
            found.update(row[0] for row in rows)
        else:
            ends = statement.query in FINISHES  # both of these are exact, or neither
            found.update(change.run_id for change in changes if (change.status in FINAL) is ends)
    return found


def _company(changes: Sequence[Transition], ending: Sequence[Transition]) -> list[Statement]:
    """The writes that depend on moves."""
    batch: list[Statement] = []
    keys = [(change.tenant, change.key, change.run_id) for change in ending if change.key is not None]
    if keys:
        batch.append(Statement("free_keys", {"rows": Rows(KEY, keys)}))
    batch += _report(ending)
    ended = [attempt_values(change.ended) for change in changes if change.ended is not None]
    if ended:
        batch.append(
            Statement("add_attempts", {"rows": Rows(ATTEMPT, [[one[name] for name in ATTEMPT] for one in ended])})
        )
    following = [new for change in changes for new in change.then]
    plain = [new for new in following if new.run.key_text is None]
    if plain:
        batch.append(add_runs(plain))
    for new in following:
        if new.run.key_text is not None:
            batch += taking_key(new)
    emitted = [event for change in changes for event in change.emits]
    return [*batch, add_events(emitted)] if emitted else batch


def _report(ending: Sequence[Transition]) -> list[Statement]:
    """Note in schedules how their runs ended, in the order of ids: two such writes would deadlock otherwise."""
    reports: dict[str, tuple[datetime, str, int]] = {}
    for change in ending:
        schedule, word, at = change.schedule, REPORTED.get(change.status), change.finished_at
        if schedule is None or word is None or at is None:
            continue
        last, status, failed = reports.get(schedule, (at, word, 0))
        status = word if at >= last else status
        reports[schedule] = (max(at, last), status, failed + (word == "failed"))
    if not reports:
        return []
    values = [(schedule, *(reports[schedule][index] for index in (1, 0, 2))) for schedule in sorted(reports)]
    return [Statement("report", {"rows": Rows(REPORT, values)})]


def is_chain(change: Transition) -> bool:
    """Whether a run follows that a cancel would prevent."""
    return any(new.run.rescheduled_from is not None for new in change.then)


def possible(changes: Iterable[Transition], guards: Iterable[Row]) -> list[Transition]:
    """Those of these transitions that can still be written, by runs as they are now (id, status, token, whether a
    cancel was asked for). A chain of which that is so ends with its run."""
    now = {row[0]: row for row in guards}
    left = []
    for change in changes:
        _, status, token, asked = now.get(change.run_id, (None, None, None, False))
        if (status, token) != (change.expected.value, change.expected_token):
            continue
        if asked and not change.status.final:
            continue
        left.append(_ends_chain(change) if asked and is_chain(change) else change)
    return left


def _ends_chain(change: Transition) -> Transition:
    left = tuple(new for new in change.then if new.run.rescheduled_from is None)
    return msgspec.structs.replace(change, then=left)

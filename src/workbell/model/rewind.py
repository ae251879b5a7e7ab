"""Rewind: a store that went back, to an older backup or by a failover that lost commits. Pure.

A process remembers where the store was (`StorePosition`). Where that looks wrong (`suspicion`), it compares the runs
that it held or moved in the last minutes with the store (`judge`). Only the comparison decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Annotated, NamedTuple, assert_never

import msgspec
from msgspec import Meta

from workbell.model.clock import Instant
from workbell.model.ids import new_id
from workbell.model.run import Status

EXECUTED_BEFORE = "Executed before"  # how the sentence about a run begins
NAMED = 5  # ids of runs in one line of the log


class StorePosition(NamedTuple):
    """Where a store is: compared again and again to notice that it went back."""

    identity: str  # of the database cluster, or of the file
    timeline: int = 0
    place: int = 0  # grows with what is written
    server_start: str = ""  # a server that was started again may have been given older data


def suspicion(before: StorePosition | None, after: StorePosition) -> str | None:
    """Why the store may have been rewound between these two; none: nothing speaks for it.

    It may be wrong: every clean failover makes a new timeline, and every restart a new start.
    """
    if before is None:
        return None
    if after.identity != before.identity:
        return "it is another database than before"
    if after.timeline != before.timeline:
        return f"timeline {after.timeline} instead of {before.timeline}"
    if after.place < before.place:
        return f"it ends at {after.place:,}, and was at {before.place:,}"
    return "its server was started again" if after.server_start != before.server_start else None


class KnownRun(msgspec.Struct, frozen=True, gc=False):
    """A run as this process knows it: held, let go of without a booking (both `running`), or moved here."""

    id: str
    tenant: str
    token: int
    worker: str | None  # who held the lease
    status: Status
    attempt: int
    at: datetime  # of the claim, or of the move that was written
    begun: bool  # its handler was called
    remove_at: datetime | None  # retention may remove it from then on


class Standing(NamedTuple):
    """A run as the store has it, live or finished."""

    status: Status
    token: int
    attempt: int
    worker: str | None
    updated_at: datetime


EndedTokens = Mapping[tuple[str, int], int]  # of attempts that have ended, by run and number


class RewindKind(StrEnum):
    """What a rewind did to a run."""

    LEASE = "lease"
    REPEATED = "repeated"
    GONE = "gone"


class Rewind(msgspec.Struct, frozen=True, kw_only=True):
    """A run that a rewind of the store concerns, as the process noticed that knew more about it."""

    id: str
    noticed_at: Instant
    worker: Annotated[str, Meta(description="The worker that held or finished the run, else the process that noticed.")]
    tenant: str
    run: str
    kind: Annotated[
        RewindKind,
        Meta(
            description="`lease`: it was executed under a lease that the store lost. `repeated`: an end of it was "
            "stored, and the store runs it again. `gone`: the store has no such run any more."
        ),
    ]
    token: Annotated[int, Meta(description="The lease token under which it was executed.")]
    detail: Annotated[str, Meta(description="What happened, in a sentence.")]


def judge(known: KnownRun, there: Standing | None, now: datetime, ended: int | None = None) -> RewindKind | None:
    """What a rewind did to a run that this process knows; none: the store may well have come to this by itself.

    `ended` is the token of the ended attempt that the store has under the number of the known one; none: it has none.
    """
    if there is None:
        return None if known.remove_at is not None and known.remove_at <= now else RewindKind.GONE
    if known.status.final:
        is_same = (there.status, there.token, there.updated_at) == (known.status, known.token, known.at)
        return None if is_same else RewindKind.REPEATED
    if not known.begun or not is_forgotten(known, there, ended):
        return None
    return RewindKind.LEASE if known.status is Status.RUNNING else RewindKind.REPEATED


def is_forgotten(known: KnownRun, there: Standing, ended: int | None) -> bool:
    """Whether the store does not know this start of a run.

    Attempts count starts, and only a run that was handed back before it began loses one. So a store that has fewer of
    them has forgotten one, and a second start under the same number was made in ignorance of the first.
    """
    if there.attempt < known.attempt or (ended and ended != known.token):  # 0: not known
        return True
    return there.attempt == known.attempt and _is_another_start(known, there)


def may_have_ended(known: KnownRun, there: Standing | None) -> bool:
    """Whether only the row of the ended attempt says who made the start that this process knows."""
    if there is None or known.status.final or there.attempt < known.attempt:
        return False
    return there.token != known.token


def _is_another_start(known: KnownRun, there: Standing) -> bool:
    match there.status:
        case Status.RUNNING | Status.SUCCEEDED:
            return (there.token, there.worker) != (known.token, known.worker)
        case Status.FAILED:
            return there.token != known.token
        case Status.SCHEDULED | Status.QUEUED | Status.CANCELED:  # others may have claimed it and handed it back
            return False
        case _:
            assert_never(there.status)


def compare(
    known: Iterable[KnownRun],
    there: Mapping[str, Standing],
    now: datetime,
    noticed_by: str,
    ended: EndedTokens | None = None,
) -> list[Rewind]:
    """Records of the runs that the store knows less of than this process."""
    found = []
    for run in known:
        kind = judge(run, there.get(run.id), now, (ended or {}).get((run.id, run.attempt)))
        if kind is not None:
            worker = run.worker or noticed_by
            found.append(
                Rewind(
                    id=new_id(),
                    noticed_at=now,
                    worker=worker,
                    tenant=run.tenant,
                    run=run.id,
                    kind=kind,
                    token=run.token,
                    detail=_detail(run, kind),
                )
            )
    return found


def _detail(run: KnownRun, kind: RewindKind) -> str:
    at = f"{run.at:%Y-%m-%d %H:%M:%S} UTC"
    if run.status is Status.RUNNING:
        did = f"claimed it at {at}" + ("" if run.begun else " and had not begun it")
    elif run.status.final:
        did = f"finished it as {run.status} at {at}"
    else:
        did = f"ended attempt {run.attempt} of it at {at}"
    match kind:
        case RewindKind.LEASE:
            return f"{did}; the store lost that lease when it was rewound"
        case RewindKind.REPEATED:
            return f"{did}, before the store was rewound"
        case RewindKind.GONE:
            return f"{did}; the store has had no such run since it was rewound"
        case _:
            assert_never(kind)


def executed_before(rewinds: Iterable[Rewind]) -> str:
    """A sentence for each time that a run was executed and the store forgot; empty where there was none."""
    return " ".join(f"{EXECUTED_BEFORE}: worker {one.worker} {one.detail}." for one in rewinds)


def rewinds_in_words(found: Iterable[Rewind]) -> str:
    """How many runs of each kind there are, with the first ids."""
    by_kind: dict[RewindKind, list[str]] = {}
    for one in found:
        by_kind.setdefault(one.kind, []).append(one.run)
    return ", ".join(
        f"{_counted(kind, len(by_kind[kind]))} ({_named(by_kind[kind])})" for kind in RewindKind if kind in by_kind
    )


def _counted(kind: RewindKind, count: int) -> str:
    runs = "1 run" if count == 1 else f"{count:,} runs"
    match kind:
        case RewindKind.LEASE:
            return f"{runs} executed under {'a lease' if count == 1 else 'leases'} that it lost"
        case RewindKind.REPEATED:
            return f"{runs} executed before that it runs again"
        case RewindKind.GONE:
            return f"{runs} that no longer {'exists' if count == 1 else 'exist'}"
        case _:
            assert_never(kind)


def _named(ids: list[str]) -> str:
    more = f" and {len(ids) - NAMED:,} more" if len(ids) > NAMED else ""
    return ", ".join(ids[:NAMED]) + more

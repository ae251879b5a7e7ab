"""Flows: verbs that read before they write, as generators of batches.

A flow yields what it wants to read (`Ask`) and to write (`Do`), and is sent the answers; where a guard of a write
refuses, the Conflict is thrown into it, and it reads again. So the same flow runs on our own database, and statement
by statement on a caller's own connection, awaited or not (see callers.py).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import NamedTuple, TypeVar

from workbell.stores.database import Batch, Conflict, Database, Row
from workbell.stores.pending_entry import write_action
from workbell.stores.publisher import Pair

T = TypeVar("T")


class Ask(NamedTuple):
    """Statements that only read."""

    batch: Batch


class Do(NamedTuple):
    """Statements that are written whole or not at all."""

    batch: Batch
    ended: Sequence[Pair] = ()  # runs that end ahead of the action itself: published at once, without an audit entry


Answers = list[list[Row]]
Flow = Generator[Ask | Do, Answers, T]


def run(
    database: Database,
    flow: Flow[T],
    *,
    makes: str = "",
    lock: float | None = None,
    written: Callable[[Sequence[Pair]], None] = lambda _: None,
) -> T:
    """Run a flow on our own database; `makes` as in `write_action`, `lock` as in `Database.write`. `written` gets the
    runs that ended ahead of the action."""

    def execute(step: Ask | Do) -> Answers:
        if isinstance(step, Ask):
            return database.read(step.batch)
        if step.ended:
            answers = database.write(step.batch, lock=lock)
            written(step.ended)
            return answers
        return write_action(database, step.batch, makes=makes, lock=lock)

    return drive(flow, execute)


def drive(flow: Flow[T], execute: Callable[[Ask | Do], Answers]) -> T:
    """The result of a flow whose steps are executed by a function."""
    try:
        step = next(flow)
        while True:
            try:
                answers = execute(step)
            except Conflict as conflict:
                step = flow.throw(conflict)
            else:
                step = flow.send(answers)
    except StopIteration as done:
        value: T = done.value
        return value

"""Fifty triggers of which each event of ours matches five, and the oracle that knows which: by kind, not by pattern."""

from __future__ import annotations

from workbell.model.clock import Clock
from workbell.model.ids import new_id
from workbell.model.trigger import Trigger
from workbell.stores.port import Store

JOB = "hear"
KINDS = 10
SHAPES = ("shop.{kind}.made", "shop.{kind}.*", "shop.{kind}.**", "*.{kind}.made", "*.{kind}.**")


def kind_of(number: int) -> str:
    return f"kind{number % KINDS}"


def type_of(number: int) -> str:
    return f"shop.{kind_of(number)}.made"


def trigger(clock: Clock, pattern: str, name: str | None = None, job: str = JOB, **fields: object) -> Trigger:
    now = clock.now()
    given = {"id": new_id(), "name": name or pattern, "pattern": pattern, "job": job}
    return Trigger(created_at=now, updated_at=now, **(given | fields))  # type: ignore[arg-type]


def add_fifty(store: Store) -> dict[str, set[str]]:
    """All of them; the answer is which ids hear of events of which type."""
    hearers: dict[str, set[str]] = {}
    for number in range(KINDS):
        for shape in SHAPES:
            made = trigger(store.clock, shape.format(kind=kind_of(number)))
            assert store.subscribers.write_trigger(made, None)
            hearers.setdefault(type_of(number), set()).add(made.id)
    return hearers

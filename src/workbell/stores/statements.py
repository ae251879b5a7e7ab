"""Making a run as a list of plain statements without decisions, which any connection can execute.

That is what lets a run be made inside the caller's own transaction: ids are made on our side, and whether a key
was won is decided by the statements themselves. The answer of `key_holder` says which run stands for the request.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from workbell.errors import DuplicateRun
from workbell.model.run import Added, NewRun, OnDuplicate
from workbell.model.state import MOVES, Keep, Move
from workbell.stores.rows import NEW, new_values


class Statement(NamedTuple):
    query: str
    values: dict[str, Any]


def statements_for(request: NewRun, keep: Keep) -> Iterator[Statement]:
    """The statements for one new run, in order."""
    run = request.run
    values = dict(zip(NEW, new_values(request), strict=True))
    values |= {"tenant": run.tenant, "until": None, "old_tag": None, "old_key": None}
    values |= {"to_status": MOVES[Move.CANCEL].targets[0].value, "remove_at": run.created_at + keep.other}
    if request.key_span is not None:
        values["until"] = run.created_at + request.key_span
    if request.replace_tag:
        replaced = values | {"old_tag": run.tag, "reason": f"replaced by run {run.id} of the same tag"}
        yield Statement("cancel_pending", replaced)
        yield Statement("remove_canceled", replaced)
        yield Statement("free_replaced_keys", replaced)
    if run.key is None:
        yield Statement("add_run", values)
        return
    if request.on_duplicate is OnDuplicate.REPLACE:
        yield Statement("lock_key", values)  # else two that replace at once would not see each other's run
        replaced = values | {"old_key": run.key, "reason": f"replaced by run {run.id} with the same key"}
        yield Statement("cancel_pending", replaced)
        yield Statement("remove_canceled", replaced)
        yield Statement("seize_key", values)
    else:
        yield Statement("take_key", values)
    yield Statement("add_keyed_run", values)
    yield Statement("key_holder", values)


def reject_duplicate(request: NewRun, answer: Added) -> None:
    """Raise if the caller asked for duplicates to be rejected, and this is one."""
    if not answer.created and request.on_duplicate is OnDuplicate.REJECT:
        raise DuplicateRun(
            f"The key {request.run.key!r} is held by run {answer.id}; wait for it, or enqueue with "
            "on_duplicate='return' or 'replace'.",
            answer.id,
        )

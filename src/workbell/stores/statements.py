"""Making a run as a sequence of statements that any connection can execute.

That is what lets a run be made inside the caller's own transaction: ids are made on our side, and whether a key was
won, and which runs are replaced, is decided by the statements themselves. `making` yields each statement and is sent
its rows; so plain connections, awaited ones and our own sessions drive the same sequence.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from workbell.errors import DuplicateRun, KeyReused
from workbell.model import state
from workbell.model.event import Event, NewEvent, OnceTold
from workbell.model.payload import decode
from workbell.model.run import Added, Lane, NewRun, OnDuplicate, Run, Status, read_options
from workbell.model.state import MOVES, Keep, Move, Transition
from workbell.stores.database import Statement
from workbell.stores.port import Pair
from workbell.stores.rows import NEW, new_values

SAME_TAG = "of the same tag"
SAME_KEY = "with the same key"


Tag = tuple[str, str]  # its tenant and itself
Rows = Sequence[Sequence[Any]]
Making = Generator[Statement, Rows, Added]


class Replacing(NamedTuple):
    """How the runs that new ones take the place of are ended, and told of."""

    keep: Keep
    make_run: Callable[[Sequence[Any], dict[int, Lane]], Run]  # of a row of history
    publish: Callable[[Sequence[Pair]], Sequence[Pair]]
    emit: Callable[[Event], Iterable[Statement]]


def making(request: NewRun, replacing: Replacing, ended: list[Pair]) -> Making:
    """The statements that make one run, in order; the answer is which run stands for the request.

    Runs that it takes the place of are added to `ended`. Raises DuplicateRun where duplicates are to be rejected,
    and KeyReused where the key is that of another HTTP request.
    """
    run = request.run
    values = dict(zip(NEW, new_values(request), strict=True))
    values |= {"tenant": run.tenant, "until": None, "old_tag": None, "old_key": None}
    if request.key_span is not None:
        values["until"] = run.created_at + request.key_span
    if request.replace_tag:
        yield Statement("lock_tag", {"tenant": run.tenant, "tag": run.tag})
        yield from _replace(run, values | {"old_tag": run.tag}, SAME_TAG, replacing, ended)
    if run.key_text is None:
        yield Statement("add_run", values)
        return Added(run.id, True)
    if request.on_duplicate is OnDuplicate.REPLACE:
        yield Statement("lock_key", values)  # else two that replace at once would not see each other's run
        yield from _replace(run, values | {"old_key": run.key_text}, SAME_KEY, replacing, ended)
        yield Statement("seize_key", values)
    else:
        yield Statement("take_key", values)
    yield Statement("add_keyed_run", values)
    holder = str((yield Statement("key_holder", values))[0][0])
    added = Added(holder, holder == run.id)
    reject_duplicate(request, added)
    if request.once is not None and not added.created:
        for made_from in (yield Statement("request_of", {"id": holder})):
            refuse_other_request(request, holder, *made_from)
    return added


def _replace(
    new: Run, values: dict[str, Any], why: str, replacing: Replacing, ended: list[Pair]
) -> Generator[Statement, Rows, None]:
    """End the waiting runs of a tag or a key, and write the events that tell of it."""
    values |= {"to_status": MOVES[Move.CANCEL].targets[0].value, "reason": state.replaced_by(new, why)}
    values |= {"remove_at": new.created_at + replacing.keep.other}
    yield Statement("free_replaced_keys", values)
    gone = yield Statement("cancel_pending", values)
    yield Statement("remove_canceled", values)
    if not gone:
        return
    found = yield Statement("find_lanes", {"ids": sorted({row[1] for row in gone})})
    lanes = {row[0]: Lane(*row[1:6]) for row in found}
    waiting = [_before(replacing.make_run(row, lanes)) for row in gone]
    changes = [state.replace(run, new.created_at, by=new, why=why, keep=replacing.keep) for run in waiting]
    pairs = replacing.publish(list(zip(waiting, changes, strict=True)))
    for _, change in pairs:
        for event in change.emits:
            for statement in replacing.emit(event):  # noqa: UP028  a list cannot be sent their rows
                yield statement
    ended += pairs


def _before(canceled: Run) -> Run:
    """A run that was replaced, as it waited."""
    return msgspec.structs.replace(
        canceled, status=Status.QUEUED, updated_at=canceled.created_at, reason=None, finished_at=None, remove_at=None
    )


def replaced_tag(request: NewRun) -> Tag | None:
    """The tag whose waiting runs a new one replaces, if it does."""
    return (request.run.tenant, request.run.tag or "") if request.replace_tag else None


def following(change: Transition, asked: Collection[str]) -> Iterable[NewRun]:
    """The runs to be made with a transition. Where a cancel was asked for, the chain of a run that failed ends."""
    if change.run_id not in asked:
        return change.then
    return [new for new in change.then if new.run.rescheduled_from is None]


def reject_duplicate(request: NewRun, answer: Added) -> None:
    """Raise if the caller asked for duplicates to be rejected, and this is one."""
    if not answer.created and request.on_duplicate is OnDuplicate.REJECT:
        raise DuplicateRun(
            f"The key {request.run.key!r} is held by run {answer.id}; wait for it, or enqueue with "
            "on_duplicate='return' or 'replace'.",
            answer.id,
        )


def refuse_other_request(
    request: NewRun, holder: str, job: str, input_text: str | None, options_text: str | None
) -> None:
    """Raise if the run that holds the key of an HTTP request was made by another request.

    Versions before kept no fingerprint. Of a run that one of them made, job and input are compared.
    """
    once, run = request.once, request.run
    if once is None:
        return
    made_by = read_options(options_text).request
    if made_by is None:
        is_same = (job, decode(input_text)) == (run.job, decode(run.input_text))
    else:
        is_same = made_by == once.fingerprint
    if not is_same:
        raise key_reused(once.key, f"run {holder}")


def new_requests(new: Sequence[NewEvent], added: Sequence[Added]) -> Iterable[tuple[Event, OnceTold]]:
    """Each HTTP request under an Idempotency-Key whose events were stored just now, with the first of them."""
    first: dict[tuple[str, OnceTold], tuple[Event, Added]] = {}
    for (event, once), answer in zip(new, added, strict=True):
        if once is not None:
            first.setdefault((event.tenant, once), (event, answer))
    return [(event, once) for (_, once), (event, answer) in first.items() if answer.created]


def refuse_other_events(new: Sequence[NewEvent], added: Sequence[Added], known: Mapping[str, Event]) -> None:
    """Raise if events of an HTTP request are held by those of another request under the same Idempotency-Key.

    A request is written whole: of the same one either all events are there or none, and they say the same.
    """
    asked: dict[tuple[str, OnceTold], list[tuple[Event, Added]]] = {}
    for (event, once), answer in zip(new, added, strict=True):
        if once is not None:
            asked.setdefault((event.tenant, once), []).append((event, answer))
    for (_, once), answers in asked.items():
        if all(answer.created for _, answer in answers):
            continue
        for event, answer in answers:
            first = known.get(answer.id)
            if answer.created or (first is not None and _told(first) != _told(event)):
                raise key_reused(once.key, f"event {next(answer.id for _, answer in answers if not answer.created)}")


def _told(event: Event) -> tuple[Any, ...]:
    return event.type, event.subject, decode(event.data_text)


def key_reused(key: str, by: str) -> KeyReused:
    return KeyReused(f"Idempotency-Key {key!r} was used for another request ({by}); choose a new one.")

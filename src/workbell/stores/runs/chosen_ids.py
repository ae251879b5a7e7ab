"""Chosen ids: a run whose id the client has made. If there is a run of that id, live or in history, it is the answer to
the request that made it, and any other request is refused.

Where one transaction writes at a time, a guard before the inserts decides. Elsewhere the primary key decides about live
runs, and a guard behind the insert about history: a run that ends meanwhile is moved there by a transaction for which
the insert has waited, and the guard sees what that has committed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from workbell.errors import KeyReused
from workbell.model.run import Added, NewRun, read_options
from workbell.stores.database import Statement
from workbell.stores.flows import Ask, Flow


def without_repeats(new: Sequence[NewRun]) -> Sequence[NewRun]:
    """Requests, each once: one that came again before it was written may be among them."""
    if not any(request.chosen for request in new):
        return new
    first: dict[str, NewRun] = {}
    for request in new:
        other = first.setdefault(request.run.id, request)
        if other is not request:
            refuse_taken_id(request, other.run.tenant, other.run.options_text)
    return list(first.values())


def answers_to(new: Sequence[NewRun], known: Mapping[str, Added]) -> list[Added]:
    """The answer to each request: a run that was known, or is the answer to an earlier one, was not made by it."""
    answers: list[Added] = []
    made: dict[str, Added] = {}
    for request in new:
        run_id = request.run.id
        earlier = made.get(run_id)
        answer = known.get(run_id, Added(run_id, True)) if earlier is None else Added(earlier.id, False)
        made[run_id] = answer
        answers.append(answer)
    return answers


def unmade(new: Iterable[NewRun]) -> list[Statement]:
    """Guard before a batch: no run of these chosen ids exists. A run with a key may not even be inserted."""
    chosen = [request.run.id for request in new if request.chosen]
    return [Statement("made_from", {"ids": chosen}, exactly=0)] if chosen else []


def unfinished(new: Iterable[NewRun]) -> list[Statement]:
    """Guard behind the inserts of these runs: none of the chosen ids is in history."""
    chosen = [request.run.id for request in new if request.chosen]
    return [Statement("finished_of", {"ids": chosen}, exactly=0)] if chosen else []


def find_made(new: Sequence[NewRun]) -> Flow[dict[str, Added]]:
    """Runs that the same requests have made before; raises KeyReused if other requests have."""
    chosen = {request.run.id: request for request in new if request.chosen}
    if not chosen:
        return {}
    (found,) = yield Ask([Statement("made_from", {"ids": list(chosen)})])
    for run_id, tenant, options_text in found:
        refuse_taken_id(chosen[run_id], tenant, options_text)
    return {run_id: Added(run_id, False) for run_id, _, _ in found}


def refuse_taken_id(request: NewRun, tenant: str, options_text: str | None) -> None:
    """Raise if the run of a chosen id was made by another request. Whose it is, is not said."""
    run = request.run
    if (tenant, read_options(options_text).request) != (run.tenant, run.options.request):
        raise KeyReused(
            f"id {run.id}: another request has made a run of this id; make a new id for a new run, and send an id "
            "again only with the same body."
        )

"""Adding runs: the statements for new runs, what a duplicate key does, and the runs that are replaced.

Whether a key is won is decided by a statement (`take_key`), and who holds it is answered afterwards. Runs that are to
be replaced are read first, and ended by transitions in the same write; guards ensure that none is missing, else the
write is repeated. See flows.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from workbell.errors import DuplicateRun, StoreUnavailable
from workbell.model import state
from workbell.model.run import PENDING, Added, Lane, NewRun, OnDuplicate, Run, read_options
from workbell.model.state import Retention, Transition
from workbell.stores.database import Conflict, Dialect, Row, Rows, Statement
from workbell.stores.flows import Ask, Do, Flow
from workbell.stores.publisher import Pair
from workbell.stores.refusals import key_reused
from workbell.stores.rows import NEW, new_values
from workbell.stores.runs.chosen_ids import answers_to, find_made, unfinished, unmade, without_repeats
from workbell.stores.runs.lanes import lanes_from

SAME_TAG = "of the same tag"
SAME_KEY = "with the same key"
ROUND = 500  # waiting runs of a tag that end in the write of the new run; of more, the others end ahead of it
TRIES = 50  # of a write whose guards refuse: each time another process has written

NOBODY: Mapping[str, Added] = MappingProxyType({})

Tag = tuple[str, str]  # its tenant and itself
Key = tuple[str, str]  # the same


class AddedRuns(NamedTuple):
    """Which runs stand for the requests, and which waiting runs they have replaced."""

    added: list[Added]
    ended: list[Pair]


class Replacing(NamedTuple):
    """How runs that new ones replace are ended, and published."""

    dialect: Dialect
    keep: Retention
    publish: Callable[[Sequence[Pair]], Sequence[Pair]]
    moving: Callable[[Sequence[Transition]], list[Statement]]
    waits: bool = True  # for another transaction that replaces runs of the same tag; else the write is refused


class KeyHolder(NamedTuple):
    """Holder of a deduplication key."""

    run_id: str
    by_life: bool  # as long as the run lives; else for a time
    is_over: bool = False  # that time has passed


class SeenReplaced(NamedTuple):
    """Runs to be replaced, as they were read: waiting runs of tags, one more than a round at most, and the holders of
    keys."""

    of_tags: dict[Tag, list[Run]]
    holders: dict[Key, KeyHolder]
    runs: dict[str, Run]  # of these holders, those that live

    @property
    def crowded(self) -> list[Tag]:
        """Tags with more waiting runs than end in one write."""
        return [tag for tag, runs in self.of_tags.items() if len(runs) > ROUND]


def add_runs(new: Sequence[NewRun], query: str = "add_runs") -> Statement:
    """Runs without keys, all of them; or by another query that takes the same."""
    return Statement(query, {"rows": Rows(NEW, [new_values(request) for request in new])})


def taking_key(request: NewRun) -> list[Statement]:
    """A run with a key, if it wins that."""
    values = _values(request)
    return [Statement("take_key", values), Statement("add_keyed_run", values)]


def is_plain(request: NewRun) -> bool:
    """Whether a request asks for nothing but a run."""
    return not request.chosen and request.run.key_text is None and not request.replace_tag


def only_adds(request: NewRun) -> bool:
    """Whether a request is for a run alone, or under a chosen id: it takes no key, and replaces no run."""
    return request.run.key_text is None and not request.replace_tag


def replaced_tag(request: NewRun) -> Tag | None:
    """The tag whose waiting runs a new one replaces, if it does."""
    return (request.run.tenant, request.run.tag or "") if request.replace_tag else None


def adding(new: Sequence[NewRun], replacing: Replacing, lanes: Sequence[Statement] = ()) -> Flow[AddedRuns]:
    """Make runs; `lanes` are made with them. Raises DuplicateRun where duplicates are to be rejected, and KeyReused
    where the key or the chosen id is that of another HTTP request: then nothing is written."""
    if all(map(is_plain, new)):
        yield Do([*lanes, add_runs(new)])
        return AddedRuns([Added(request.run.id, True) for request in new], [])
    known: dict[str, Added] = {}  # what HTTP requests have made before
    each = without_repeats(new)
    for _ in range(TRIES):
        wanted = [request for request in each if request.run.id not in known]
        if not wanted:
            break
        seen = yield from read_replaced(wanted, replacing.dialect)
        if seen.crowded:  # a call that is refused must end nothing
            made = yield from find_made(wanted)
            made |= yield from _find_duplicates([request for request in wanted if not _is_freed(request, seen)])
            known |= made
            if made:
                continue
            seen = yield from make_room(wanted, seen, replacing)
        writing = Writing(replacing, seen)
        batch = [*lanes, *writing.batch(wanted)]
        if writing.refused:
            made = yield from find_made(wanted)
            known |= made
            if made:
                continue
            yield from _find_duplicates(wanted, writing.refused)
        try:
            answers = yield Do(batch)
        except Conflict:
            made = yield from find_made(wanted)
            known |= made
            known |= yield from _find_duplicates([request for request in wanted if request.run.id not in made])
            continue
        known |= writing.answers(answers[len(lanes) :])
        return AddedRuns(answers_to(new, known), writing.ended)
    if len(known) == len(each):
        return AddedRuns(answers_to(new, known), [])
    raise StoreUnavailable("What the new runs replace was changed by others all the time; repeat the call.")


# Reading


def read_replaced(new: Sequence[NewRun], dialect: Dialect) -> Flow[SeenReplaced]:
    """Read what these requests replace."""
    tags = sorted({tag for request in new if (tag := replaced_tag(request)) is not None})
    every = Counter(_key(request) for request in new if _has_key(request))
    keyed = {
        _key(request): _key_values(request)
        for request in new
        if _has_key(request)
        and (
            request.on_duplicate is OnDuplicate.REPLACE
            or (request.run.tenant, request.run.tag or "") in tags
            or every[_key(request)] > 1
        )
    }
    if not tags and not keyed:
        return SeenReplaced({}, {}, {})
    asked = [Statement("pending_of_tag", {"tenant": tenant, "tag": tag, "limit": ROUND + 1}) for tenant, tag in tags]
    asked += [Statement(query, values) for query in ("key_holder", "run_of_key") for values in keyed.values()]
    answers = iter((yield Ask(asked)))
    of_tags = [next(answers) for _ in tags]
    holders, live = [next(answers) for _ in keyed], [next(answers) for _ in keyed]
    rows = [row for answer in (*of_tags, *live) for row in answer]
    lanes: dict[int, Lane] = {}
    if rows:
        (found,) = yield Ask([Statement("find_lanes", {"ids": sorted({row[1] for row in rows})})])
        lanes = lanes_from(found)
    waiting = {tag: [dialect.make_run(row, lanes) for row in answer] for tag, answer in zip(tags, of_tags, strict=True)}
    runs = [dialect.make_run(row, lanes) for answer in live for row in answer]
    return SeenReplaced(
        waiting,
        {key: KeyHolder(*answer[0]) for key, answer in zip(keyed, holders, strict=True) if answer},
        {run.id: run for run in runs},
    )


def make_room(
    new: Sequence[NewRun], seen: SeenReplaced, replacing: Replacing, guards: Sequence[Statement] = ()
) -> Flow[SeenReplaced]:
    """End the waiting runs of tags but one round of each; what is left, as it is read again.

    A user may have enqueued any number of runs with a tag, and one write of all would hold up all others. So a round is
    a write of its own, with the guards, and stays if the write of the new run fails: some runs of the tag still wait
    then. Raises Conflict if one of the guards refuses.
    """
    by = {tag: request.run for request in reversed(new) if (tag := replaced_tag(request)) is not None}
    decisive = {guard.query for guard in guards}
    refused = 0
    while seen.crowded and refused < TRIES:
        pairs = [
            pair for tag in seen.crowded for pair in _replaced(seen.of_tags[tag][:ROUND], by[tag], SAME_TAG, replacing)
        ]
        try:
            yield Do([*guards, *replacing.moving([change for _, change in pairs])], pairs)
        except Conflict as conflict:  # others have moved some of them
            if conflict.query in decisive:
                raise
            refused += 1
        seen = yield from read_replaced(new, replacing.dialect)
    return seen


def _replaced(waiting: Sequence[Run], by: Run, why: str, replacing: Replacing) -> Sequence[Pair]:
    """The ends of waiting runs that a new one replaces, with their events."""
    changes = [state.replace(run, by.created_at, by=by, why=why, keep=replacing.keep) for run in waiting]
    return replacing.publish(list(zip(waiting, changes, strict=True)))


def _is_freed(request: NewRun, seen: SeenReplaced) -> bool:
    """Whether the key of a request becomes free with the end of a waiting run that is replaced."""
    holder = seen.holders.get(_key(request))
    run = None if holder is None or not holder.by_life else seen.runs.get(holder.run_id)
    return run is not None and run.status in PENDING and (run.tenant, run.tag) in seen.of_tags


def _find_duplicates(new: Sequence[NewRun], refused: Mapping[str, Added] = NOBODY) -> Flow[dict[str, Added]]:
    """Why a write was refused: raises if it was a duplicate, the first that the caller has given. `refused` are those
    whose keys others of the same call take. The answers are those to HTTP requests made before."""
    strict = [request for request in new if _is_strict(request)]
    if not strict:
        return {}
    answers = yield Ask([Statement("key_holder", _key_values(request)) for request in strict])
    known: dict[str, Added] = {}
    for request, answer in zip(strict, answers, strict=True):
        if request.run.id in refused:
            reject_duplicate(request, refused[request.run.id])
        if not answer or KeyHolder(*answer[0]).is_over or answer[0][0] == request.run.id:
            continue
        holder = Added(answer[0][0], False)
        reject_duplicate(request, holder)
        (made_from,) = yield Ask([Statement("request_of", {"id": holder.id})])
        for (options_text,) in made_from:
            refuse_other_request(request, holder.id, options_text)
        known[request.run.id] = holder
    return known


# Writing


class Writing:
    """The statements that make runs, in order, and what their answers mean."""

    def __init__(self, replacing: Replacing, seen: SeenReplaced) -> None:
        self._replacing = replacing
        self._one_writer = replacing.dialect.one_writer
        self._waiting = {tag: list(runs) for tag, runs in seen.of_tags.items()}
        self._holders = dict(seen.holders)
        self._runs = dict(seen.runs)
        self._batch: list[Statement] = []
        self._asked: dict[int, NewRun] = {}  # by the index of the statement that answers who holds a key
        self._gone: set[str] = set()  # what is ended here
        self._new: dict[str, Run] = {}  # what is made here with a key
        self._known: dict[str, Added] = {}  # HTTP requests that others of these have made already
        self.refused: dict[str, Added] = {}  # duplicates of others of these
        self.ended: list[Pair] = []

    def batch(self, new: Sequence[NewRun]) -> list[Statement]:
        """The batch, in the order of tags, ids and keys: two writers of the same ones would deadlock otherwise."""
        # Where transactions come one after the other, nobody can come between this guard and the inserts.
        self._batch += unmade(new if self._one_writer else filter(_has_key, new))
        tags = sorted({tag for request in new if (tag := replaced_tag(request)) is not None})
        if tags:  # what comes behind one that replaces must not be replaced
            if not self._one_writer:  # else two that replace would not see each other's new run
                lock, exactly = ("lock_tag", None) if self._replacing.waits else ("try_tag", 1)
                self._batch += [Statement(lock, {"tenant": tenant, "tag": tag}, exactly) for tenant, tag in tags]
            ordered = list(new)
        else:
            plain = sorted((request for request in new if only_adds(request)), key=_id)
            self._batch += [add_runs(plain)] if plain else []
            self._guard(plain)
            ordered = sorted((request for request in new if not only_adds(request)), key=_key)
        for request in ordered:
            self._add(request)
            self._guard([request])
        return self._batch

    def _guard(self, added: Sequence[NewRun]) -> None:
        """At once behind the inserts: what comes later may end these runs."""
        self._batch += [] if self._one_writer else unfinished(added)

    def answers(self, answers: Sequence[Sequence[Row]]) -> dict[str, Added]:
        found = dict(self._known)
        for index, request in self._asked.items():
            holder = answers[index][0][0]
            found[request.run.id] = Added(holder, holder == request.run.id)
        return found

    def _add(self, request: NewRun) -> None:
        run, tag = request.run, replaced_tag(request)
        if tag is not None:
            self._end(self._waiting.get(tag, []), run, SAME_TAG)
            self._waiting[tag] = []
        if not _has_key(request):
            self._batch.append(add_runs([request]))
        elif request.on_duplicate is OnDuplicate.REPLACE:
            self._replace_holder(request)
        else:
            self._take_key(request)
        if tag is not None:
            others = {"tenant": run.tenant, "tag": run.tag, "id": run.id}
            self._batch.append(Statement("others_of_tag", others, exactly=0))
        if not _has_key(request) or self._holders[_key(request)].run_id == run.id:
            self._note_waiting(run)

    def _take_key(self, request: NewRun) -> None:
        key, values = _key(request), _values(request)
        if _is_strict(request) and key in self._holders and self._holders[key].run_id in self._new:
            self._repeat(request, self._new[self._holders[key].run_id])
            return
        self._batch += taking_key(request)
        self._asked[len(self._batch)] = request
        self._batch.append(Statement("key_holder", values))
        if _is_strict(request):
            self._batch.append(Statement("holds_key", values, exactly=1))
        if key not in self._holders or self._holders[key].is_over:
            self._hold(request)

    def _repeat(self, request: NewRun, holder: Run) -> None:
        """The key is that of another run that is made by the same write."""
        if request.on_duplicate is OnDuplicate.REJECT:
            self.refused[request.run.id] = Added(holder.id, False)
        else:
            refuse_other_request(request, holder.id, holder.options_text)
            self._known[request.run.id] = Added(holder.id, False)

    def _replace_holder(self, request: NewRun) -> None:
        """The key goes from its holder to the new run; the holder, if it waits, is ended."""
        key, values = _key(request), _values(request)
        holder = self._holders.get(key)
        if holder is None:
            self._batch += [Statement("take_key", values), Statement("holds_key", values, exactly=1)]
        else:
            self._batch.append(Statement("pass_key", values | {"before": holder.run_id}, exactly=1))
            run = self._runs.get(holder.run_id)
            if run is not None and run.status in PENDING and run.id not in self._gone:
                self._end([run], request.run, SAME_KEY)
        self._batch.append(add_runs([request]))
        self._hold(request)

    def _hold(self, request: NewRun) -> None:
        self._holders[_key(request)] = KeyHolder(request.run.id, request.key_span is None)
        self._runs[request.run.id] = self._new[request.run.id] = request.run

    def _end(self, waiting: Sequence[Run], by: Run, why: str) -> None:
        """End runs that have not started, and publish it."""
        if not waiting:
            return
        pairs = _replaced(waiting, by, why, self._replacing)
        self._batch += self._replacing.moving([change for _, change in pairs])
        self.ended += pairs
        self._gone |= {run.id for run in waiting}
        freed = [key for key, holder in self._holders.items() if holder.by_life and holder.run_id in self._gone]
        for key in freed:
            del self._holders[key]
        for tag, runs in self._waiting.items():
            self._waiting[tag] = [run for run in runs if run.id not in self._gone]

    def _note_waiting(self, run: Run) -> None:
        tag = (run.tenant, run.tag or "")
        if run.tag is not None and tag in self._waiting:
            self._waiting[tag].append(run)


# Words of requests


def _id(request: NewRun) -> str:
    return request.run.id


def _has_key(request: NewRun) -> bool:
    return request.run.key_text is not None


def _is_strict(request: NewRun) -> bool:
    """Whether a duplicate must be known before anything is written."""
    return _has_key(request) and (request.on_duplicate is OnDuplicate.REJECT or request.once is not None)


def _key(request: NewRun) -> Key:
    return request.run.tenant, request.run.key_text or ""


def _key_values(request: NewRun) -> dict[str, Any]:
    return {"tenant": request.run.tenant, "key": request.run.key_text, "created_at": request.run.created_at}


def _values(request: NewRun) -> dict[str, Any]:
    values = dict(zip(NEW, new_values(request), strict=True))
    span = request.key_span
    return values | {"tenant": request.run.tenant, "until": None if span is None else request.run.created_at + span}


# Refusing


def reject_duplicate(request: NewRun, answer: Added) -> None:
    """Raise if the caller asked for duplicates to be rejected, and this is one."""
    if not answer.created and request.on_duplicate is OnDuplicate.REJECT:
        raise DuplicateRun(
            f"The key {request.run.key!r} is held by run {answer.id}; wait for it, or enqueue with "
            "on_duplicate='return' or 'replace'.",
            answer.id,
        )


def refuse_other_request(request: NewRun, holder: str, options_text: str | None) -> None:
    """Raise if the run that holds the key of an HTTP request was made by another request."""
    once = request.once
    if once is not None and read_options(options_text).request != once.fingerprint:
        raise key_reused(once.key, f"run {holder}")

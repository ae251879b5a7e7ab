"""Making runs: callers of one process share commits, and callers that wait for locks do so apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbell.errors import StoreUnavailable
from workbell.model.run import Added, NewRun
from workbell.model.state import Retention
from workbell.process.verb_threads import on_own_thread
from workbell.stores import flows
from workbell.stores.database import Database, Statement, read_rows
from workbell.stores.flows import Do, Flow
from workbell.stores.group_commit import GroupCommit
from workbell.stores.keyed_writes import KeyedWrites, LockName, LockWaits
from workbell.stores.pending_entry import PENDING
from workbell.stores.publisher import NoPublisher, Publisher
from workbell.stores.runs.adding import AddedRuns, Replacing, add_runs, adding, is_plain, only_adds
from workbell.stores.runs.finding import find_runs
from workbell.stores.runs.lanes import Lanes
from workbell.stores.runs.moving import moving


class Making:
    """New runs of one database."""

    def __init__(self, database: Database, lanes: Lanes, keep: Retention, waits: LockWaits) -> None:
        self.publisher: Publisher = NoPublisher()
        self._database = database
        self._lanes = lanes
        self._keep = keep
        self._plain: GroupCommit[NewRun, Added] = GroupCommit(self._write_plain, self._written)
        self._chosen: GroupCommit[NewRun, Added] = GroupCommit(self._write, self._written)
        self._keyed: KeyedWrites[NewRun, Added] = KeyedWrites(self._write, self._written, _names_of, waits)

    def add(self, new: Sequence[NewRun], *, hint: bool = True) -> list[Added]:
        if not new:
            return []
        if PENDING.get() is not None:  # an audit entry goes with them, and with nothing else
            added = self._keyed.submit(new)
        elif all(map(is_plain, new)):
            added = self._plain.submit(new)
        elif all(map(only_adds, new)):
            added = self._chosen.submit(new)
        else:
            added = self._keyed.submit(new)
        if hint:
            self._database.wake()
        return added

    def _write_plain(self, new: Sequence[NewRun]) -> list[Added]:
        lanes = self._lanes.prepare(new)
        if lanes:
            self._database.write([*self._lanes.statements(lanes), add_runs(new)])
            self._lanes.note(lanes)
        else:
            self._database.write([add_runs(new)])
        return [Added(request.run.id, True) for request in new]

    def _write(self, new: Sequence[NewRun], lock: float | None = None) -> list[Added]:
        lanes = self._lanes.prepare(new)
        flow = adding(new, self.replacing(), self._lanes.statements(lanes))
        made = flows.run(self._database, flow, makes=new[0].run.id, lock=lock, written=self.publisher.written)
        self._lanes.note(lanes)
        if made.ended:
            self.publisher.written(made.ended)
        return made.added

    def replacing(self, *, waits: bool = True) -> Replacing:
        """Settings for runs that end because new ones replace them."""
        dialect = self._database.dialect
        return Replacing(
            dialect, self._keep, self.publisher.publish, lambda changes: moving(dialect, changes, whole=True), waits
        )

    def _written(self, new: Sequence[NewRun]) -> list[Added] | None:
        """The answers to requests whose write was interrupted; None if none of them made a run.

        A run of a chosen id may be that of an earlier write, so it says nothing; and to write it again is safe.
        """
        made = find_runs(self._database, self._lanes, [request.run.id for request in new])
        if all(request.chosen or request.run.id not in made for request in new):
            return None
        return [Added(request.run.id, True) if request.run.id in made else self._duplicate(request) for request in new]

    def _duplicate(self, request: NewRun) -> Added:
        """The answer to a request that made no run, as its key was held."""
        run = request.run
        holder = read_rows(self._database, "key_holder", tenant=run.tenant, key=run.key_text, created_at=run.created_at)
        if not holder:
            raise StoreUnavailable(
                f"The write was interrupted, and the run that held the key {run.key!r} has ended since; repeat the "
                "call."
            )
        return Added(holder[0][0], False)

    def add_on(self, connection: Any, new: Sequence[NewRun]) -> list[Added]:
        caller = self._database.borrow(connection)
        made = caller.run(self._joining(new, self._lanes_to_join(new)))
        self._database.wake_later()
        return made.added

    async def aadd_on(self, connection: Any, new: Sequence[NewRun]) -> list[Added]:
        caller = await self._database.aborrow(connection)
        # It may have to read from the database on a connection of ours, which must not block the event loop.
        lanes = await on_own_thread("lanes", self._lanes_to_join, new)
        made = await caller.run(self._joining(new, lanes))
        self._database.wake_later()
        return made.added

    def _lanes_to_join(self, new: Sequence[NewRun]) -> Sequence[Statement]:
        """The lanes that are made in the caller's transaction: where one writes at a time, no other can beside it."""
        if self._database.dialect.one_writer:
            return self._lanes.statements({request.run.lane for request in new})
        self._lanes.prepare(new)
        return ()

    def _joining(self, new: Sequence[NewRun], lanes: Sequence[Statement]) -> Flow[AddedRuns]:
        if lanes:  # by themselves and first: where a library begins a transaction by itself, a write makes it begin
            yield Do(lanes)
        return (yield from adding(new, self.replacing()))


def _names_of(request: NewRun) -> list[LockName]:
    """Locks that a request may wait for."""
    run = request.run
    names = [] if run.key_text is None else [LockName((run.tenant, run.key_text), f"the key {run.key!r}")]
    return [*names, LockName((run.tenant, "tag", run.tag), f"the tag {run.tag!r}")] if request.replace_tag else names

"""The verbs about executions: runs that events made, in the words of event jobs, and their invocations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from workbell.errors import InvalidOption, RunNotFound
from workbell.model.execution import STATUSES, Execution, ExecutionStatus, Invocation, execution_of, invocation_of
from workbell.model.ids import is_id
from workbell.runs.runtime import Runtime, in_thread
from workbell.stores.port import MOST_ATTEMPTS, Filter

if TYPE_CHECKING:
    from workbell.events.triggers import Triggers
    from workbell.events.verbs import Events
    from workbell.model.run import Run, Status
    from workbell.runs.verbs import Runs

PAGE = 1000


class Executions:
    """The executions of a tenant: `bell.executions`."""

    def __init__(self, runtime: Runtime, runs: Runs, triggers: Triggers, events: Events) -> None:
        self._runtime = runtime
        self._runs = runs
        self._triggers = triggers
        self._events = events

    def __call__(
        self,
        *,
        trigger: str | None = None,
        event: str | None = None,
        status: str | None = None,
        before: str | None = None,
        limit: int = 100,
    ) -> list[Execution]:
        """Runs that events started, newest first: of a trigger (by name or id), of an event, or of all.

        `before` is the id of the last one of the page before; `status` is pending, running, completed or failed.
        """
        if not 1 <= limit <= PAGE:
            raise InvalidOption(f"limit: {limit} is not from 1 to {PAGE}.")
        if before is not None and not is_id(before):
            raise InvalidOption(f"before: {before!r:.60} is no id of an execution.")
        wanted = _statuses(status)
        if event is not None:
            found = self._of_event(
                self._events.get(event).id, None if trigger is None else self._trigger_id(trigger), before
            )
        elif trigger is not None:
            found = self._of_trigger(self._trigger_id(trigger), before)
        else:
            found = self._of_all(wanted, before)
        return [execution_of(run) for run in islice((run for run in found if run.status in wanted), limit)]

    acall = in_thread(__call__)

    def get(self, execution_id: str) -> Execution:
        """An execution by its id, which is that of its run."""
        run = self._runs.get(execution_id)
        if run.event is None:
            raise RunNotFound(
                f"run {execution_id} of {run.job} is no execution: no event made it; bell.get(id) has it."
            )
        return execution_of(run)

    aget = in_thread(get)

    def invocations(self, execution_id: str, *, after: int = 0, limit: int = MOST_ATTEMPTS) -> list[Invocation]:
        """Attempts of an execution, oldest first, from beyond number `after`."""
        self.get(execution_id)
        reason = self._runs.get(execution_id).reason
        found = self._runs.attempts(execution_id, after=after, limit=limit)
        return [invocation_of(attempt, reason) for attempt in found]

    ainvocations = in_thread(invocations)

    def _trigger_id(self, trigger: str) -> str:
        """An id is taken as it is: what a removed trigger started can still be asked for."""
        return trigger if is_id(trigger) else self._triggers.get(trigger).id

    def _of_event(self, event: str, trigger: str | None, before: str | None) -> Iterator[Run]:
        found: list[Run] = []
        after: str | None = None
        while True:
            page = self._runtime.store.events.matches(event, after=after, limit=PAGE)
            ids = [match.run for match in page if match.run is not None and trigger in (None, match.subscriber)]
            found += self._own(ids)
            if len(page) < PAGE:
                break
            after = page[-1].subscriber
        return iter(sorted((run for run in found if before is None or run.id < before), key=_id, reverse=True))

    def _of_trigger(self, trigger: str, before: str | None) -> Iterator[Run]:
        """In the order of their events, which is that of the ledger."""
        last = None if before is None else self._runs.get(before).event
        if last is not None:  # what the page before has left of its last event
            yield from self._of_event(last, trigger, before)
        while True:
            page = self._runtime.store.events.matches_of_subscriber(trigger, before=last, limit=PAGE)
            yield from self._own([match.run for match in page if match.run is not None])
            if len(page) < PAGE:
                return
            last = page[-1].event

    def _of_all(self, wanted: frozenset[Status], before: str | None) -> Iterator[Run]:
        while True:
            page = self._runtime.store.runs.list(
                Filter(
                    self._runtime.tenant,
                    [] if len(wanted) == len(STATUSES) else sorted(wanted),
                    before=before,
                    limit=PAGE,
                )
            )
            yield from (run for run in page if run.event is not None)
            if len(page) < PAGE:
                return
            before = page[-1].id

    def _own(self, ids: list[str]) -> list[Run]:
        """Runs that still exist, in this order, of this tenant only."""
        found = self._runtime.store.runs.find(ids)
        own = [found[run_id] for run_id in ids if run_id in found and found[run_id].tenant == self._runtime.tenant]
        return [one for run in own for one in (*self._followers(run), run)]

    def _followers(self, run: Run) -> Sequence[Run]:
        """The runs that followed one by `auto_reschedule`, newest first: the ledger names the first of a chain."""
        if run.options.auto_reschedule is None:
            return ()
        of_event = self._runtime.store.runs.list(Filter(self._runtime.tenant, event=run.event, limit=PAGE))
        trigger = run.options.trigger
        return [one for one in of_event if one.rescheduled_from is not None and one.options.trigger == trigger]


def _id(run: Run) -> str:
    return run.id


def _statuses(word: str | None) -> frozenset[Status]:
    """The statuses of runs that a word for executions means."""
    if word is None:
        return frozenset(STATUSES)
    try:
        meant = ExecutionStatus(word)
    except ValueError:
        raise InvalidOption(f"status: {word!r:.40} is none of {', '.join(ExecutionStatus)}.") from None
    return frozenset(status for status, meaning in STATUSES.items() if meaning is meant)

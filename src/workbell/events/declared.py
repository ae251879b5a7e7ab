"""Declared triggers: triggers of code, written to the store, and removed when no process declares them any more.

Several processes, also of several versions of the code, may share a store. So none of them removes what another one
may still want: each notes, again and again, which triggers it declares, and one that none has declared for ten minutes
is removed. Until then, and while no process runs at all, the triggers stay, and events match them.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta
from hashlib import blake2b
from typing import NamedTuple

import msgspec

from workbell.errors import StoreError
from workbell.model.clock import EPOCH
from workbell.model.ids import new_id
from workbell.model.job import NAME_LIMIT
from workbell.model.retry import Retry
from workbell.model.trigger import Trigger
from workbell.stores.port import Store

log = logging.getLogger("workbell.events")

UNDECLARED_RETENTION = timedelta(minutes=10)  # of a trigger that no process declares
ALIVE_WITHIN = timedelta(minutes=2)  # a process that declared it within that time is alive: it does so every minute
TRIES = 20
API_SOURCE = "api"  # the source of a trigger that no code declares

replace = msgspec.structs.replace


class Wanted(NamedTuple):
    """A trigger as code declares it: one pattern of one job."""

    job: str
    pattern: str
    source: str
    description: str = ""
    retry: Retry | None = None


class DeclaredTriggers:
    """The triggers of a project's code and job files, for one tenant."""

    def __init__(self, store: Store, tenant: str, project: str, *, code: str | None = None) -> None:
        self.store = store
        self._tenant = tenant
        self.code, self.files = code or f"code:{project}", f"file:{project}"
        self._logged: set[Wanted] = set()
        self._since = self._last = EPOCH  # this process has declared its triggers without a gap from then until then

    def put(self, wanted: Sequence[Wanted], *, again: bool = False) -> None:
        """Have these triggers in the store, and note that they are wanted. Whether one is enabled stays as it is.

        `again` says that nothing has changed here since the last time: then what another version of the code has made
        of a trigger meanwhile stays, for as long as it declares that.
        """
        for _ in range(TRIES):
            now = self.store.clock.now()
            plan = TriggerPlan(self._listed(), wanted, (self.code, self.files), self._tenant, now, again=again)
            changing = next(
                (one.name for one, old in plan.changes if not self.store.subscribers.write_trigger(one, old)), None
            )
            if changing is None:
                self.store.subscribers.declare_triggers(plan.ids, now)
                self._since, self._last = now if now - self._last > ALIVE_WITHIN else self._since, now
                self._log_refused(plan.refused)
                return
        raise StoreError(f"trigger {changing}: it changed again and again while it was being put; try again.")

    def hold(self, jobs: Collection[str]) -> None:
        """Note that triggers of these job files may still be wanted: the files are broken, so that is unknown."""
        if jobs:
            declared_ids = [one.id for one in self._listed() if one.source == self.files and one.job in jobs]
            self.store.subscribers.declare_triggers(declared_ids, self.store.clock.now())

    def drop(self, pairs: Collection[tuple[str, str]]) -> None:
        """Remove triggers of job files at once, by job and pattern: they were just taken out of the file."""
        if pairs:
            gone = [one for one in self._listed() if one.source == self.files and (one.job, one.pattern) in pairs]
            self._delete(gone, "its job file no longer asks for it")

    def retire(self) -> None:
        """Remove triggers of the project that no process has declared for long; `put` those that are wanted before.

        Only if this process ran all the while: after an outage of all of them, the first one that is back must not
        remove what the others still want, with what an operator has set on it.
        """
        before = self.store.clock.now() - UNDECLARED_RETENTION
        if self._since > before:
            return
        ours = [one for one in self._listed() if one.source in (self.code, self.files)]
        gone = [one for one in ours if (one.declared_at or one.updated_at) <= before]
        self._delete(gone, "no process has declared it for ten minutes")

    def _listed(self) -> list[Trigger]:
        return self.store.subscribers.list_triggers(self._tenant)

    def _delete(self, triggers: Iterable[Trigger], reason: str) -> None:
        for trigger in triggers:
            if self.store.subscribers.delete_trigger(trigger.id):
                log.info("trigger %s for %s is removed: %s", trigger.name, trigger.pattern, reason)

    def _log_refused(self, refused: Sequence[Wanted]) -> None:
        for one in refused:
            if one not in self._logged:
                self._logged.add(one)
                log.error(
                    "job %s: no trigger for %s could be made, because the names %s and %s are taken by others; rename "
                    "one of those, or the job",
                    one.job,
                    one.pattern,
                    one.job,
                    trigger_name(one),
                )


class TriggerPlan:
    """Plan of the writes that bring the store to the wanted triggers. Pure.

    For one job and pattern there is one trigger, whatever declares it, so that an event starts one run: code that is
    started in two ways, and is two projects by its names, still means the same. The trigger of the job's own name
    takes over another pattern when its own is no longer wanted; further patterns have triggers of longer names.
    """

    def __init__(
        self,
        known: Sequence[Trigger],
        wanted: Sequence[Wanted],
        sources: Sequence[str],
        tenant: str,
        now: datetime,
        *,
        again: bool = False,
    ) -> None:
        self.changes: list[tuple[Trigger, int | None]] = []
        self.ids: list[str] = []
        self.refused: list[Wanted] = []
        self._sources, self._tenant, self._now, self._again = sources, tenant, now, again
        self._named = {trigger.name: trigger for trigger in known}
        # Of several the oldest: all processes settle on the same one, and the others are retired.
        declared = sorted((one for one in known if one.source != API_SOURCE), key=lambda one: one.id, reverse=True)
        self._by_pair = {(one.job, one.pattern): one for one in declared}
        self._wanted = {(one.job, one.pattern) for one in wanted}
        for one in wanted:
            self._plan(one)

    def _plan(self, wanted: Wanted) -> None:
        old = self._by_pair.get((wanted.job, wanted.pattern)) or self._of_that_name(wanted)
        if old is None:
            self._add(wanted)
            return
        if self._again and old.pattern != wanted.pattern and self._is_fresh(old):
            return  # the process that started last wins: else two versions would overwrite each other every minute
        self.ids.append(old.id)
        if not self._is_free(old):
            return  # another project declares the same trigger, and owns it
        new = replace(
            old,
            pattern=wanted.pattern,
            description=wanted.description,
            retry=wanted.retry,
            source=wanted.source,
            unreadable=None,
        )
        if new != old:
            self.changes.append((replace(new, updated_at=self._now, declared_at=self._now), old.version))
            self._named[new.name] = new
            self._by_pair[new.job, new.pattern] = new

    def _of_that_name(self, wanted: Wanted) -> Trigger | None:
        """The trigger with the name of the job, if nobody wants the pattern that it has now."""
        named = self._named.get(wanted.job)
        if named is None or named.source == API_SOURCE or named.job != wanted.job or not self._is_free(named):
            return None
        return None if (named.job, named.pattern) in self._wanted else named

    def _is_free(self, trigger: Trigger) -> bool:
        """Whether it is ours to change: declared by this project, or by one that seems to be gone."""
        return trigger.source in self._sources or not self._is_fresh(trigger)

    def _is_fresh(self, trigger: Trigger) -> bool:
        return (trigger.declared_at or trigger.updated_at) >= self._now - ALIVE_WITHIN

    def _add(self, wanted: Wanted) -> None:
        name = next((name for name in (wanted.job, trigger_name(wanted)) if name not in self._named), None)
        if name is None:
            self.refused.append(wanted)
            return
        made = Trigger(
            id=new_id(),
            name=name,
            pattern=wanted.pattern,
            job=wanted.job,
            tenant=self._tenant,
            description=wanted.description,
            retry=wanted.retry,
            source=wanted.source,
            created_at=self._now,
            updated_at=self._now,
            declared_at=self._now,
        )
        self.changes.append((made, None))
        self._named[name] = made


def trigger_name(wanted: Wanted) -> str:
    """The name of a trigger that is not the first of its job."""
    name = f"{wanted.job}:{wanted.pattern}"
    if len(name) <= NAME_LIMIT:
        return name
    digest = blake2b(name.encode(), digest_size=4).hexdigest()
    return f"{name[: NAME_LIMIT - len(digest) - 1]}…{digest}"

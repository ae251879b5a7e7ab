"""The verbs about triggers: add, get, list, update, enable, disable, delete. Sync, and async with an `a`.

A trigger is checked as a whole before anything is written: what cannot be used leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Unpack, cast

import msgspec

from workbell.errors import (
    InvalidOption,
    PreconditionFailed,
    StoreError,
    TriggerExists,
    TriggerNotFound,
    UnknownProcessor,
)
from workbell.events.declared import API_SOURCE
from workbell.handlers.job_function import JobFunction
from workbell.model.event_subscribers import Matched
from workbell.model.ids import is_id, new_id
from workbell.model.job import DELIVERY, Job
from workbell.model.job import name as checked_name
from workbell.model.json_text import clean_text
from workbell.model.patterns import check_pattern
from workbell.model.run_defaults import NO_DEFAULTS, RunDefaults
from workbell.model.run_settings import RunSettings, check_tag, read_settings
from workbell.model.suggestions import list_options
from workbell.model.trigger import OPTION_FIELDS, RetryConfig, Trigger, retry_from
from workbell.runs.runtime import Runtime, in_thread

if TYPE_CHECKING:
    from workbell.model.retry import Retry

TRIES = 20
PAGE = 1000
SHOWN = 10  # names that a message lists
DESCRIPTION_LIMIT = 2000

Processor = str | JobFunction[Any, Any]


class TriggerSettings(RunSettings, total=False):
    """Settings of a trigger's runs, besides their retries."""

    queue: str | None
    timeout: float | timedelta | None


class TriggerChanges(TriggerSettings, total=False):
    """What `update` can change; `retry` and `retry_config` are two ways to say one thing.

    None takes away what was said about the runs; then what the job says counts.
    """

    name: str
    pattern: str
    processor: Processor
    description: str
    enabled: bool
    retry: Retry | RetryConfig | None
    retry_config: RetryConfig | None


class Triggers:
    """The triggers of a tenant: `bell.triggers`."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def add(
        self,
        name: str,
        *,
        pattern: str,
        processor: Processor,
        description: str = "",
        enabled: bool = True,
        retry: Retry | RetryConfig | None = None,
        retry_config: RetryConfig | None = None,
        **settings: Unpack[TriggerSettings],
    ) -> Trigger:
        """Start a job on every event that matches: `bell.triggers.add("mails", pattern="posts.*", processor="mail")`.

        The processor is a job that takes an event, made with `@bell.processor` or `@bell.on`, here or in another
        process; or `webhook-delivery`, which sends the event to all webhook endpoints. `retry_config` are the words
        `max_attempts`, `initial_delay_ms`, `backoff_multiplier`, `max_delay_ms`. The settings are for every run that it
        makes, such as `tag=`, `user_id=` or `priority=`, before the job's.
        """
        store = self._runtime.store
        given = TriggerChanges(
            name=name, pattern=pattern, processor=processor, description=description, enabled=enabled
        )
        given.update(cast(TriggerChanges, settings))
        if retry is not None:
            given["retry"] = retry
        if retry_config is not None:
            given["retry_config"] = retry_config
        fields = self._checked(given)
        fields["options"] = self._options(NO_DEFAULTS, given, fields["job"])
        now = store.clock.now()
        made = Trigger(
            id=new_id(), tenant=self._runtime.tenant, created_at=now, updated_at=now, source=API_SOURCE, **fields
        )
        if not store.subscribers.write_trigger(made, None):
            raise _exists(name)
        return made

    aadd = in_thread(add)

    # Read

    def get(self, name_or_id: str) -> Trigger:
        """A trigger by its name or its id."""
        known = self._runtime.store.subscribers.list_triggers(self._runtime.tenant)
        found = [trigger for trigger in known if trigger.id == name_or_id]
        found += [trigger for trigger in known if trigger.name == name_or_id]
        if not found:
            there = f"there are {_listed([trigger.name for trigger in known])}" if known else "there are none yet"
            raise TriggerNotFound(f"There is no trigger {name_or_id!r:.60}; {there}.")
        return found[0]

    aget = in_thread(get)

    def matches(self, name_or_id: str, *, before: str | None = None, limit: int = 100) -> Sequence[Matched]:
        """Events that matched a trigger, with their outcomes, newest first; `before` is the `event` of the last one of
        a page."""
        if not 1 <= limit <= PAGE:
            raise InvalidOption(f"limit: {limit} is not from 1 to {PAGE}.")
        if before is not None and not is_id(before):
            raise InvalidOption(f"before: {before!r:.60} is no id of an event.")
        trigger = self.get(name_or_id)
        found = self._runtime.store.events.matches_of_subscriber(trigger.id, before=before, limit=limit)
        return [
            Matched(one.event, "trigger", trigger.id, trigger.name, one.outcome, one.run, one.reason, one.created_at)
            for one in found
        ]

    amatches = in_thread(matches)

    def list(self) -> list[Trigger]:
        """All triggers, by name; also those that code declares."""
        return self._runtime.store.subscribers.list_triggers(self._runtime.tenant)

    alist = in_thread(list)  # noqa: A003

    # Steer

    def update(self, name_or_id: str, *, expected: int | None = None, **changes: Unpack[TriggerChanges]) -> Trigger:
        """Change what is named, and leave the rest: `bell.triggers.update("mails", pattern="posts.**")`.

        Events are matched by what a trigger is at the moment of their fan-out; existing runs are not changed.
        With `expected`, only if it still has that `version`: nobody overwrites what somebody else has changed.
        """
        store = self._runtime.store
        for _ in range(TRIES):
            old = self.get(name_or_id)
            if expected not in (None, old.version):
                raise _changed(old)
            if old.source != API_SOURCE and set(changes) - {"enabled"}:
                where = old.source.partition(":")[2]
                raise InvalidOption(
                    f"trigger {old.name}: it is declared in the code of {where}, and would soon be as before; "
                    "change it there, or add another."
                )
            fields = self._checked(changes, old.retry)
            if "job" in fields or any(word in changes for word in OPTION_FIELDS):
                fields["options"] = self._options(old.options, changes, fields.get("job", old.job))
            if old.unreadable is not None:  # what is not given stays as it is stored
                fields["unreadable"] = old.unreadable.left(fields)
            new = msgspec.structs.replace(old, **fields)
            if new == old:
                return old
            if new.name != old.name and any(other.name == new.name for other in self.list()):
                raise _exists(new.name)
            new = msgspec.structs.replace(new, updated_at=store.clock.now(), version=old.version + 1)
            if store.subscribers.write_trigger(new, old.version):
                return new
            name_or_id = old.id  # changed meanwhile: read it again, also if it has another name now
        raise StoreError(f"trigger {name_or_id}: others changed it again and again meanwhile; try again.")

    aupdate = in_thread(update)

    def enable(self, name_or_id: str) -> Trigger:
        """Let it start runs again, from the events that are fanned out from now on."""
        return self.update(name_or_id, enabled=True)

    aenable = in_thread(enable)

    def disable(self, name_or_id: str) -> Trigger:
        """Start no more runs; what matches meanwhile is noted as matched while disabled."""
        return self.update(name_or_id, enabled=False)

    adisable = in_thread(disable)

    def delete(self, name_or_id: str, *, expected: int | None = None) -> None:
        """Remove a trigger; its runs stay. One that code declares comes back, within a minute while that code runs.

        With `expected`, only if it still has that `version`.
        """
        known = self.get(name_or_id)
        if not self._runtime.store.subscribers.delete_trigger(known.id, expected) and expected is not None:
            raise _changed(known)

    adelete = in_thread(delete)

    # Check

    def _checked(self, given: TriggerChanges, retry: Retry | None = None) -> dict[str, Any]:
        """The fields of a trigger that were given, each fit to be stored. `retry` is the policy that it has."""
        known = TriggerChanges.__annotations__
        strange = sorted(set(given) - set(known))
        if strange:
            raise InvalidOption(f"trigger: there is no {strange[0]!r}; {list_options(strange[0], known)}")
        fields: dict[str, Any] = {}
        if "name" in given:
            fields["name"] = checked_name("trigger", given["name"], InvalidOption)
        if "pattern" in given:
            fields["pattern"] = check_pattern(given["pattern"])
        if "processor" in given:
            fields["job"] = self._processor(given["processor"])
        if "description" in given:
            fields["description"] = _description(given["description"])
        if "enabled" in given:
            if not isinstance(given["enabled"], bool):
                raise InvalidOption(f"trigger: enabled is True or False, not {given['enabled']!r:.40}.")
            fields["enabled"] = given["enabled"]
        if "retry" in given and "retry_config" in given:
            raise InvalidOption("trigger: retry and retry_config say the same thing; give one of them.")
        for word in ("retry", "retry_config"):
            if word in given:
                fields["retry"] = retry_from(given[word], known=retry)
        return fields

    def _options(self, old: RunDefaults, given: TriggerChanges, job: str) -> RunDefaults:
        """Settings of the runs with the given changes; None removes a setting."""
        words = [word for word in OPTION_FIELDS if word in given]
        said = read_settings({word: given.get(word) for word in words})
        new = msgspec.structs.replace(old, **(dict.fromkeys(words) | said))
        runtime = self._runtime
        known = runtime.registry.find(job) or runtime.store.jobs.find(runtime.tenant, job)
        check_tag(new, NO_DEFAULTS if known is None else known.terms.defaults)
        return new

    def _processor(self, given: Processor) -> str:
        """Name of a job that takes an event: one of this process, or one that another process has stored."""
        name = given.name if isinstance(given, JobFunction) else checked_name("processor", given, InvalidOption)
        if name == DELIVERY:  # of every process, also of one that cannot send: its runs wait for one that can
            return name
        runtime = self._runtime
        known = runtime.registry.find(name)
        stored = runtime.store.jobs.find(runtime.tenant, name) if known is None else None
        if takes_event(known) or takes_event(self._code_of(stored)):
            return name
        if known is not None or stored is not None:
            raise UnknownProcessor(
                f"processor {name}: this job takes no event, so no event can start it; declare it with "
                f"@bell.processor({name!r}) or @bell.on(pattern), and let it take `event`."
            )
        there = _listed(self.processors())
        raise UnknownProcessor(
            f"There is no processor {name!r}, here or in the store; "
            + (f"known are {there}." if there else f"declare one with @bell.processor({name!r}).")
        )

    def processors(self) -> Sequence[str]:
        """The application's jobs that a trigger can start: those of this process, and those that the store knows."""
        runtime = self._runtime
        here = {job.name for job in runtime.registry if takes_event(job)}
        stored = runtime.store.jobs.list(runtime.tenant)
        return sorted(here | {job.name for job in stored if takes_event(self._code_of(job))})

    def _code_of(self, job: Job | None) -> JobFunction[Any, Any] | Job | None:
        """The code of a stored job as far as it is known: of a definition, that of its handler."""
        if job is None or not job.is_definition:
            return job
        runtime = self._runtime
        return runtime.registry.find(job.handler) or runtime.store.jobs.find(runtime.tenant, job.handler)


def takes_event(job: object) -> bool:
    return bool(getattr(job, "processor", False))


def _description(value: object) -> str:
    if not isinstance(value, str):
        raise InvalidOption(f"trigger: the description is a text, not {type(value).__name__}.")
    return clean_text(value, DESCRIPTION_LIMIT)


def _exists(name: str) -> TriggerExists:
    return TriggerExists(f"There is a trigger {name!r} already; update it, or choose another name.")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:SHOWN]) + (" …" if len(names) > SHOWN else "")


def _changed(trigger: Trigger) -> PreconditionFailed:
    return PreconditionFailed(f"trigger {trigger.name}: somebody else has changed it meanwhile; read it again.")

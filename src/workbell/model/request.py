"""An enqueue: its options, checked, and the new run that they make."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple, TypedDict

import msgspec

from workbell.errors import InvalidOption
from workbell.model.clock import aware, seconds, span, time_limit
from workbell.model.ids import new_id
from workbell.model.job import name
from workbell.model.keys import KeyScope, read_scope, stored_key
from workbell.model.retry import Retry, read_retry
from workbell.model.run import NO_OPTIONS, Lane, NewRun, Once, OnDuplicate, Options, Run, Status
from workbell.model.spelling import list_options

PRIORITIES = range(-100, 101)
RESCHEDULES = 10


class EnqueueOptions(TypedDict, total=False):
    """What can be said about a run when it is enqueued."""

    run_at: datetime
    """Not before this time."""
    delay: float | timedelta
    """Not before this many seconds from now."""
    expires: datetime | float | timedelta
    """If it has not started by then (a time, or a span from now), it is canceled."""
    key: str
    """Deduplicates: of a job's runs with one key there is one at a time."""
    key_scope: str
    """Among which runs the key is unique: those of the `job` (the default), or all of the `tenant`."""
    on_duplicate: str
    """`return` the existing run (the default), `reject` with DuplicateRun, or `replace` it if it has not started."""
    key_for: float | timedelta
    """How long the key is taken; without it, while the run is live."""
    tag: str
    """A word to find runs by."""
    replace_tag: bool
    """Cancel the runs of the same tag that have not started."""
    priority: int
    """From -100 to 100; higher first. Otherwise that of the job."""
    queue: str
    tenant: str
    user_id: int
    """Whom the run belongs to; 0 is the system."""
    target: str
    """Which agent is to run it."""
    retry: Retry | int | Mapping[str, Any]
    timeout: float | timedelta
    persistent: bool
    """False: if the process that enqueued it is restarted before the run starts, the run is canceled."""
    auto_reschedule: float | timedelta
    """If the run fails for good, make a new one after this many seconds."""
    remove_delay: float | timedelta
    """How long it is kept after it has ended."""
    connection: Any
    """The caller's own connection: the run exists if and when its transaction commits."""


class Request(NamedTuple):
    """A run that is asked for: checked already, and written by `enqueue_many`."""

    new: NewRun
    connection: Any = None


ABOUT_KEYS = ("on_duplicate", "key_for", "key_scope")
NAMES = frozenset(EnqueueOptions.__annotations__)


def check_names(options: EnqueueOptions) -> None:
    unknown = sorted(set(options) - NAMES)
    if unknown:
        raise InvalidOption(f"Unknown option {unknown[0]!r}; {list_options(unknown[0], NAMES)}")


def read_priority(value: object) -> int:
    """A priority; raises InvalidOption for anything else."""
    if isinstance(value, bool) or not isinstance(value, int) or value not in PRIORITIES:
        raise InvalidOption(f"priority: {value!r} is not a whole number from -100 to 100.")
    return value


def plain_request(lane: Lane, input_text: str | None, now: datetime, priority: int = 0) -> NewRun:
    """A request without any options: by far the most frequent one."""
    return NewRun(Run(new_id(), lane, Status.QUEUED, -priority, now, now, now, input_text=input_text))


def make_request(
    job: str,
    input_text: str | None,
    options: EnqueueOptions,
    *,
    tenant: str,
    queue: str,
    priority: int = 0,
    now: datetime,
    accepted_by: str,
    lane_key: str | None = None,
    depth: int = 0,
) -> NewRun:
    """A new run as the options ask for it; raises InvalidOption for the first one that cannot be used."""
    check_names(options)
    due = _due(options, now)
    expires = options.get("expires")
    expires_at = None
    if expires is not None:
        expires_at = aware("expires", expires) if isinstance(expires, datetime) else now + span("expires", expires)
        if expires_at <= due:
            raise InvalidOption("expires: the run would expire before it is due; choose a later time.")
    own_priority = read_priority(options.get("priority", priority))
    user_id = options.get("user_id", 0)
    if isinstance(user_id, bool) or not isinstance(user_id, int) or not 0 <= user_id < 2**63:
        raise InvalidOption(f"user_id: {user_id!r} is not a whole number from 0.")
    lane = Lane(
        name("tenant", options.get("tenant", tenant), InvalidOption),
        name("queue", options.get("queue", queue), InvalidOption),
        job,
        _name(options, "target"),
        lane_key,
    )
    tag, key = _name(options, "tag"), _name(options, "key")
    replace_tag, persistent = _flag(options, "replace_tag", False), _flag(options, "persistent", True)
    if replace_tag and tag is None:
        raise InvalidOption("replace_tag: there is no tag; give one with tag=.")
    if key is None and not options.keys().isdisjoint(ABOUT_KEYS):
        raise InvalidOption(f"{', '.join(ABOUT_KEYS)}: there is no key; give one with key=.")
    run = Run(
        new_id(),
        lane,
        Status.SCHEDULED if due > now else Status.QUEUED,
        -own_priority,
        due,
        now,
        now,
        input_text=input_text,
        options_text=_options_text(options, depth),
        tag=tag,
        key_text=None if key is None else stored_key(key, read_scope(options.get("key_scope", KeyScope.JOB)), job),
        user_id=user_id,
        accepted_by=None if persistent else accepted_by,
        expires_at=expires_at,
    )
    return NewRun(
        run,
        _on_duplicate(options),
        span("key_for", options["key_for"]) if "key_for" in options else None,
        replace_tag,
    )


def _due(options: EnqueueOptions, now: datetime) -> datetime:
    if "run_at" in options and "delay" in options:
        raise InvalidOption("run_at and delay both say when; give one of them.")
    if "run_at" in options:
        return max(aware("run_at", options["run_at"]), now)
    if "delay" in options:
        return now + span("delay", options["delay"])
    return now


def _name(options: EnqueueOptions, option: str) -> str | None:
    value = options.get(option)
    return None if value is None else name(option, value, InvalidOption)


def _flag(options: EnqueueOptions, option: str, default: bool) -> bool:
    value = options.get(option, default)
    if not isinstance(value, bool):
        raise InvalidOption(f"{option}: expected True or False, got {type(value).__name__}.")
    return value


def _on_duplicate(options: EnqueueOptions) -> OnDuplicate:
    value = options.get("on_duplicate", OnDuplicate.RETURN)
    try:
        return OnDuplicate(value)
    except ValueError:
        raise InvalidOption(f"on_duplicate: {value!r} is none of return, reject, replace.") from None


def _options_text(options: EnqueueOptions, depth: int) -> str | None:
    reschedule = seconds("auto_reschedule", options["auto_reschedule"]) if "auto_reschedule" in options else None
    kept = Options(
        retry=read_retry(options["retry"]) if options.get("retry") is not None else None,
        timeout=time_limit("timeout", options["timeout"]) if "timeout" in options else None,
        auto_reschedule=reschedule,
        reschedules_left=None if reschedule is None else RESCHEDULES,
        remove_delay=seconds("remove_delay", options["remove_delay"]) if "remove_delay" in options else None,
        depth=depth,
    )
    return _text_of(kept)


def _text_of(options: Options) -> str | None:
    return None if options == NO_OPTIONS else msgspec.json.encode(options).decode()


def asked_once(new: NewRun, once: Once) -> NewRun:
    """The request for a run that an HTTP request under an Idempotency-Key makes: the run keeps the fingerprint."""
    options = msgspec.structs.replace(new.run.options, request=once.fingerprint)
    return msgspec.structs.replace(new, run=_with_options(new.run, options), once=once)


def with_parent(run: Run, parent: str | None) -> Run:
    """The same run as one that the handler of another run makes, or as one that none does."""
    return run if run.parent == parent else _with_options(run, msgspec.structs.replace(run.options, parent=parent))


def _with_options(run: Run, options: Options) -> Run:
    return msgspec.structs.replace(run, options_text=_text_of(options))


def again(
    run: Run, now: datetime, *, wait: timedelta = timedelta(0), accepted_by: str | None = None, **links: str
) -> NewRun:
    """A new run with the same job, input and settings as an earlier one, linked to it.

    One that is not persistent belongs to the process that accepts it now; without one, to that of the earlier run.
    """
    chain = None if run.options.auto_reschedule is None else RESCHEDULES  # it begins anew
    options = msgspec.structs.replace(run.options, request=None, parent=None, reschedules_left=chain)
    copy = msgspec.structs.replace(
        Run(new_id(), run.lane, Status.SCHEDULED if wait else Status.QUEUED, run.rank, now + wait, now, now),
        input_text=run.input_text,
        options_text=_text_of(options),
        tag=run.tag,
        user_id=run.user_id,
        accepted_by=None if run.persistent else accepted_by or run.accepted_by,
        schedule=run.schedule,
        event=run.event,
        **links,
    )
    return NewRun(copy)


def reschedule(run: Run, now: datetime) -> NewRun | None:
    """What follows a run that failed for good, if it asked for that: the chain ends by itself."""
    options = run.options
    if options.auto_reschedule is None or not options.reschedules_left:
        return None
    new = again(run, now, wait=timedelta(seconds=options.auto_reschedule), rescheduled_from=run.id)
    left = msgspec.structs.replace(new.run.options, reschedules_left=options.reschedules_left - 1)
    return NewRun(_with_options(new.run, left))

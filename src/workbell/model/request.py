"""Enqueue requests: options, checked, and the new run that they make."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, NamedTuple, TypedDict, cast

import msgspec

from workbell.errors import ClockSkew, InvalidOption
from workbell.model.clock import aware, seconds, span, time_limit
from workbell.model.ids import new_id, time_of
from workbell.model.job import name
from workbell.model.keys import KeyScope, read_scope, stored_key
from workbell.model.retry import Retry, read_retry
from workbell.model.run import NO_OPTIONS, IdempotencyKey, Lane, NewRun, OnDuplicate, Options, Run, RunWindow, Status
from workbell.model.run_defaults import NO_DEFAULTS, RUN_WORDS, Maker, RunDefaults
from workbell.model.run_settings import read_flag, read_priority, read_user
from workbell.model.state import Retention, retention_of
from workbell.model.suggestions import list_options
from workbell.model.unreadable import about, check_readable
from workbell.model.users import UserId, user_number, user_text


class EnqueueOptions(TypedDict, total=False):
    """Options of an enqueue."""

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
    user_id: UserId
    """Whom the run belongs to: a number or a text; 0 is the system."""
    target: str
    """Which agent is to run it."""
    retry: Retry | int | Mapping[str, Any]
    timeout: float | timedelta
    persistent: bool
    """False: if the process that enqueued it is restarted before the run starts, the run is canceled."""
    auto_reschedule: float | timedelta
    """If the run fails for good, make a new one after this many seconds."""
    remove_delay: float | timedelta
    """How long the run stays in history after it has ended."""
    connection: Any
    """The caller's own connection: the run exists if and when its transaction commits."""


class Request(NamedTuple):
    """A run that is asked for: checked already, and written by `enqueue_many`."""

    new: NewRun
    connection: Any = None


ID_WINDOW = timedelta(minutes=15)
"""Largest difference between the time in an id that a client chooses and the store's clock."""
KEPT_LONG = timedelta(hours=1)
"""Retention from which on the id of a removed run is too old to be chosen again: more than twice the window."""
ABOUT_KEYS = ("on_duplicate", "key_for", "key_scope")
NAMES = frozenset(EnqueueOptions.__annotations__)


def check_names(options: EnqueueOptions) -> None:
    unknown = sorted(set(options) - NAMES)
    if unknown:
        raise InvalidOption(
            f"Unknown option {unknown[0]!r}; {list_options(unknown[0], NAMES)} "
            f"Arguments of the job belong in its input: bell.enqueue(name, {{{unknown[0]!r}: …}})."
        )


def plain_request(lane: Lane, input_text: str | None, now: datetime) -> NewRun:
    """A request without any options: by far the most frequent one."""
    return NewRun(Run(new_id(), lane, Status.QUEUED, 0, now, now, now, input_text=input_text))


def make_request(
    job: str,
    input_text: str | None,
    options: EnqueueOptions,
    *,
    tenant: str,
    queue: str,
    now: datetime,
    maker: Maker,
    defaults: RunDefaults = NO_DEFAULTS,
    lane_key: str | None = None,
    depth: int = 0,
) -> NewRun:
    """A new run as the options ask for it; raises InvalidOption for the first one that cannot be used.

    `defaults` are the job's; retries and timeouts of a job are not among them, and count when the run is executed.
    """
    check_names(options)
    if options.get("replace_tag") and options.get("tag", defaults.tag) is None:
        raise InvalidOption("replace_tag: there is no tag; give one with tag=.")
    due = _due(options, now)
    expires_at = _expiry(options, defaults, due, now)
    if defaults != NO_DEFAULTS:
        options = _filled_in(options, defaults)
    priority, user_id = read_priority(options.get("priority", 0)), read_user(options.get("user_id", 0))
    lane = Lane(
        name("tenant", options.get("tenant", tenant), InvalidOption),
        name("queue", options.get("queue", queue), InvalidOption),
        job,
        _name(options, "target"),
        lane_key,
    )
    tag, key = _name(options, "tag"), _name(options, "key")
    replace_tag = read_flag("replace_tag", options.get("replace_tag", False)) and tag is not None
    persistent = read_flag("persistent", options.get("persistent", True))
    if key is None and not options.keys().isdisjoint(ABOUT_KEYS):
        raise InvalidOption(f"{', '.join(ABOUT_KEYS)}: there is no key; give one with key=.")
    run = Run(
        new_id(),
        lane,
        Status.SCHEDULED if due > now else Status.QUEUED,
        -priority,
        due,
        now,
        now,
        input_text=input_text,
        options_text=_options_text(options, depth, maker.reschedules, user_text(user_id)),
        tag=tag,
        key_text=None if key is None else stored_key(key, read_scope(options.get("key_scope", KeyScope.JOB)), job),
        user_number=user_number(user_id),
        accepted_by=None if persistent else maker.process,
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


def _expiry(options: EnqueueOptions, defaults: RunDefaults, due: datetime, now: datetime) -> datetime | None:
    """Expiry of a run: its own option counts from now, that of the job from when the run is due."""
    expires = options.get("expires")
    if expires is None:
        return None if defaults.expires is None or "expires" in options else due + timedelta(seconds=defaults.expires)
    expires_at = aware("expires", expires) if isinstance(expires, datetime) else now + span("expires", expires)
    if expires_at <= due:
        raise InvalidOption("expires: the run would expire before it is due; choose a later time.")
    return expires_at


def _filled_in(options: EnqueueOptions, defaults: RunDefaults) -> EnqueueOptions:
    """The options, with the job's where the run itself says nothing."""
    said = {word: value for word in RUN_WORDS if (value := getattr(defaults, word)) is not None}
    return cast(EnqueueOptions, said | options)


def _name(options: EnqueueOptions, option: str) -> str | None:
    value = options.get(option)
    return None if value is None else name(option, value, InvalidOption)


def _on_duplicate(options: EnqueueOptions) -> OnDuplicate:
    value = options.get("on_duplicate", OnDuplicate.RETURN)
    try:
        return OnDuplicate(value)
    except ValueError:
        raise InvalidOption(f"on_duplicate: {value!r} is none of return, reject, replace.") from None


def _options_text(options: EnqueueOptions, depth: int, reschedules: int, user: str | None) -> str | None:
    reschedule = seconds("auto_reschedule", options["auto_reschedule"]) if "auto_reschedule" in options else None
    stored = Options(
        retry=read_retry(options["retry"]) if options.get("retry") is not None else None,
        timeout=time_limit("timeout", options["timeout"]) if "timeout" in options else None,
        auto_reschedule=reschedule,
        reschedules_left=None if reschedule is None else reschedules,
        remove_delay=seconds("remove_delay", options["remove_delay"]) if "remove_delay" in options else None,
        depth=depth,
        user=user,
    )
    return _text_of(stored)


def _text_of(options: Options) -> str | None:
    return None if options == NO_OPTIONS else msgspec.json.encode(options).decode()


def asked_once(new: NewRun, once: IdempotencyKey) -> NewRun:
    """The request for a run that an HTTP request under an Idempotency-Key makes: the run stores the fingerprint."""
    options = msgspec.structs.replace(new.run.options, request=once.fingerprint)
    return msgspec.structs.replace(new, run=_with_options(new.run, options), once=once)


def with_chosen_id(new: NewRun, run_id: str, fingerprint: str) -> NewRun:
    """The request for a run whose id the client has chosen; the run stores the fingerprint of the HTTP request.

    Raises ClockSkew if the id was made at another time than now. Runs are listed by their ids; and the id of a run that
    was removed is too old to be chosen again, see `is_gone_early`.
    """
    made_at, now = time_of(run_id), new.run.created_at
    if abs(made_at - now) > ID_WINDOW:
        raise ClockSkew(
            f"id: {run_id} was made at {made_at:%Y-%m-%d %H:%M:%SZ}, and it is {now:%Y-%m-%d %H:%M:%SZ} here; set the "
            "clock of the machine that makes ids, make a new id for a new run, or leave id out."
        )
    options = msgspec.structs.replace(new.run.options, request=fingerprint)
    run = msgspec.structs.replace(new.run, id=run_id, options_text=_text_of(options))
    return msgspec.structs.replace(new, run=run, chosen=True)


def is_gone_early(run: Run, keep: Retention) -> bool:
    """Whether a run may be removed from history so soon that its id could be chosen again."""
    own = retention_of(run, keep)
    return min(own.succeeded, own.other) < KEPT_LONG


def with_parent(run: Run, parent: str | None) -> Run:
    """The same run as one that the handler of another run makes, or as one that none does."""
    return run if run.parent == parent else _with_options(run, msgspec.structs.replace(run.options, parent=parent))


def _with_options(run: Run, options: Options) -> Run:
    return msgspec.structs.replace(run, options_text=_text_of(options))


def made_by_rule(
    lane: Lane,
    said: RunDefaults,
    options: Options,
    *,
    due: datetime,
    now: datetime,
    maker: Maker,
    input_text: str | None,
    schedule: str | None = None,
    event: str | None = None,
) -> NewRun:
    """A new run of a schedule or a trigger, with what was said about its runs. `options` is what `run_options` made."""
    run = Run(
        new_id(),
        lane,
        Status.SCHEDULED if due > now else Status.QUEUED,
        -(said.priority or 0),
        due,
        now,
        now,
        input_text=input_text,
        options_text=encoded(options),
        tag=said.tag,
        user_number=user_number(said.user_id or 0),
        schedule=schedule,
        event=event,
        accepted_by=maker.process if said.persistent is False else None,
        expires_at=None if said.expires is None else due + timedelta(seconds=said.expires),
    )
    return NewRun(run, replace_tag=bool(said.replace_tag) and said.tag is not None)


def run_options(said: RunDefaults, maker: Maker, **own: Any) -> Options:
    """The settings that are stored with each run: those for all runs, and a run's own."""
    return Options(
        retry=said.retry,
        timeout=said.timeout,
        auto_reschedule=said.auto_reschedule,
        reschedules_left=None if said.auto_reschedule is None else maker.reschedules,
        remove_delay=said.remove_delay,
        user=user_text(said.user_id),
        **own,
    )


@lru_cache(maxsize=4096)  # there are few schedules and triggers, and many runs
def encoded(options: Options) -> str | None:
    return _text_of(options)


def again(
    run: Run,
    now: datetime,
    maker: Maker,
    *,
    wait: timedelta = timedelta(0),
    window: RunWindow | None = None,
    **links: str,
) -> NewRun:
    """A new run with the same job, input and settings as an earlier one, linked to it.

    One that is not persistent belongs to the maker's process. A chain of automatic reschedules starts again. Without a
    window it starts at any time: somebody asks for it now.
    """
    failed = {name: why for name, why in run.unreadable_columns.items() if name in ("options", "input")}
    check_readable(f"run {run.id}", about(failed, "enqueue it anew.") if failed else None)
    chain = None if run.options.auto_reschedule is None else maker.reschedules
    options = msgspec.structs.replace(
        run.options, request=None, parent=None, imported_id=None, reschedules_left=chain, window=window
    )
    due = now + wait
    copy = msgspec.structs.replace(
        Run(new_id(), run.lane, Status.SCHEDULED if wait else Status.QUEUED, run.rank, due, now, now),
        input_text=run.input_text,
        options_text=_text_of(options),
        tag=run.tag,
        user_number=run.user_number,
        accepted_by=None if run.persistent else maker.process,
        expires_at=None if run.expires_at is None else due + (run.expires_at - run.created_at),
        schedule=run.schedule,
        event=run.event,
        **links,
    )
    return NewRun(copy)


def reschedule(run: Run, now: datetime) -> NewRun | None:
    """The run that follows one that failed for good (`auto_reschedule`), if any: the chain has an end."""
    options = run.options
    if options.auto_reschedule is None or not options.reschedules_left:
        return None
    maker = Maker(run.accepted_by or "", options.reschedules_left - 1)  # the chain goes on, in the process it began in
    wait = timedelta(seconds=options.auto_reschedule)
    return again(run, now, maker, wait=wait, window=options.window, rescheduled_from=run.id)

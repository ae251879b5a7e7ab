"""Job: a name, whose code runs, and the settings of its runs."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from difflib import get_close_matches
from typing import Any, NamedTuple

import msgspec

from workbell.errors import InvalidOption, JobsError, UnknownJob, WorkbellError
from workbell.model.alert import repr_without_urls, without_urls
from workbell.model.limit import NO_LIMITS, Limits
from workbell.model.retry import Retry
from workbell.model.run_defaults import NO_DEFAULTS, RunDefaults
from workbell.model.unreadable import UnreadableColumns

QUEUE = "default"
TENANT = "default"
NAME_LIMIT = 200
LISTED = 10  # names that a message lists
DELIVERY = "webhook-delivery"  # sends an event to an endpoint
ALERT = "webhook-alert"  # calls the URL of a run's job or schedule when the run has ended
BULK = "bulk-action"  # cancels or repeats all runs of a filter
CLEAN = "clean-history"  # removes what is past its retention; done by schedulers, and never by a worker
BUILT_IN = frozenset({DELIVERY, ALERT, BULK, CLEAN})  # Workbell's own jobs, whether or not they can be run here
CODE_SOURCE = "code"  # the source of a job that a function declares
API_SOURCE = "api"  # of a definition: made by `bell.jobs.put`, the command line or HTTP
EVERYWHERE = frozenset({BULK})  # of these, those that every worker takes, whichever queues it serves


class RunTerms(NamedTuple):
    """The job's settings for its new runs."""

    queue: str = QUEUE
    limits: Limits = NO_LIMITS
    defaults: RunDefaults = NO_DEFAULTS
    retry: Retry | None = None  # read again when a run has failed
    template: str | None = None  # JSON that the input of each run is merged onto
    refusal: str | None = None  # why there are no new runs


UNKNOWN = RunTerms()  # of a job that nobody has declared yet


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A job, as stored.

    Of a job that code declares, `handler` says where the code is, and nothing is imported by it. Of a definition
    (`source` is `api`), it is the name of the job whose code runs; its own, if that is not in Python.
    """

    id: str
    name: str
    handler: str
    created_at: datetime
    updated_at: datetime
    tenant: str = TENANT
    queue: str = QUEUE
    description: str = ""
    input_text: str | None = None
    retry: Retry | None = None
    timeout: float | None = None
    concurrency: int | None = None
    concurrency_key: str | None = None
    rate: str | None = None
    rate_key: str | None = None
    enabled: bool = True
    processor: bool = False  # whether its handler takes an event, so that a trigger can start it
    alert_url: str | None = None  # called when a run has failed for good
    ping_url: str | None = None  # called at every end of a run, as a sign of life
    options: RunDefaults = NO_DEFAULTS  # of its runs; their queue, retries and timeout stand above
    source: str = CODE_SOURCE
    version: int = 1  # of a definition; changes with every put
    unreadable: UnreadableColumns | None = None

    @property
    def is_definition(self) -> bool:
        """Whether it is data: a name, a template and options for the code of another job."""
        return self.source == API_SOURCE

    @property
    def is_elsewhere(self) -> bool:
        """Whether it is a definition that is its own handler: its code is in no Python program, and a consumer in
        another language, or an agent, takes its runs by this name."""
        return self.is_definition and self.handler == self.name

    @property
    def input(self) -> dict[str, Any]:
        """The input template: what the input of each run is merged onto."""
        return {} if self.input_text is None else msgspec.json.decode(self.input_text)

    @property
    def terms(self) -> RunTerms:
        template = self.input_text if self.is_definition else None
        refusal = None
        if self.unreadable is not None:
            refusal = f"job {self.name}: {self.unreadable}"
        elif self.is_definition and not self.enabled:
            refusal = job_disabled(self.name)
        return RunTerms(self.queue or QUEUE, self.limits, self.options, self.retry, template, refusal)

    @property
    def priority(self) -> int:
        return self.options.priority or 0

    @property
    def limits(self) -> Limits:
        return Limits(self.concurrency, self.concurrency_key, self.rate, self.rate_key)

    def __repr__(self) -> str:
        """Representation without the URLs, which are secret."""
        return repr_without_urls(self)

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return without_urls(self)


def job_disabled(job: str) -> str:
    """The reason why a tick or an event made no run."""
    return f"job {job} is disabled"


def unknown_job(job: str, known: Iterable[str]) -> UnknownJob:
    """The refusal of a name that nobody knows, with the nearest one that is known."""
    names = sorted({*known} - BUILT_IN)
    near = get_close_matches(job, names, 1)
    told = f"did you mean {near[0]!r}? " if near else ""
    told += f"known are {', '.join(names[:LISTED])}{' …' if names[LISTED:] else ''}. " if names else "none is known. "
    return UnknownJob(
        f"There is no job {job!r}, here or in the store; {told}Declare it with @bell.job; if its code is in another "
        f"language, with bell.jobs.put({job!r}, handler={job!r})."
    )


def refused(job: str) -> InvalidOption:
    """The refusal to enqueue a run of one of Workbell's own jobs."""
    if job == CLEAN:
        return InvalidOption(f"job {job}: it starts by itself, as the setting clean_every says.")
    return InvalidOption(f"job {job}: it is Workbell's own, which enqueues it itself; see bell.webhooks and bell.bulk.")


def name(kind: str, value: object, error: type[WorkbellError] = JobsError) -> str:
    """A usable name of a job, queue, tenant, tag or key: printable, without blanks at its ends, not too long."""
    if not isinstance(value, str):
        raise error(f"{kind}: expected a text, got {type(value).__name__}.")
    if not value or len(value) > NAME_LIMIT or value != value.strip() or not value.isprintable():
        raise error(f"{kind} {value[:40]!r}: use 1 to {NAME_LIMIT} printable characters without blanks at either end.")
    return value

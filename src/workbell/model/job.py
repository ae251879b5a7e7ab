"""Job: the definition of work, its name and its defaults."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from workbell.errors import InvalidOption, JobsError, WorkbellError
from workbell.model.alert import repr_without_urls, without_urls
from workbell.model.limit import NO_LIMITS, Limits
from workbell.model.retry import Retry
from workbell.model.run_defaults import NO_DEFAULTS, RunDefaults

QUEUE = "default"
TENANT = "default"
NAME_LIMIT = 200
DELIVERY = "webhook-delivery"  # sends an event to an endpoint
ALERT = "webhook-alert"  # calls the URL of a run's job or schedule when the run has ended
BULK = "bulk-action"  # cancels or repeats all runs of a filter
CLEAN = "clean-history"  # removes what is past its retention; done by schedulers, and never by a worker
BUILT_IN = frozenset({DELIVERY, ALERT, BULK, CLEAN})  # Workbell's own jobs, whether or not they can be run here
EVERYWHERE = frozenset({BULK})  # of these, those that every worker takes, whichever queues it serves


class RunTerms(NamedTuple):
    """The job's settings for its new runs."""

    queue: str = QUEUE
    limits: Limits = NO_LIMITS
    defaults: RunDefaults = NO_DEFAULTS
    retry: Retry | None = None  # read again when a run has failed


UNKNOWN = RunTerms()  # of a job that nobody has declared yet


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """The definition of work, as stored; its code is found by `handler`, never imported from here."""

    id: str
    name: str
    handler: str
    created_at: datetime
    updated_at: datetime
    tenant: str = TENANT
    queue: str = QUEUE
    description: str = ""
    payload_template: str | None = None
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

    @property
    def terms(self) -> RunTerms:
        return RunTerms(self.queue or QUEUE, self.limits, self.options, self.retry)

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

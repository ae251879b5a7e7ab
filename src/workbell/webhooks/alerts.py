"""The built-in job `webhook-alert`: notifies the URL of a schedule or job that a run ended.

Attempts record the host and nothing more of the URL: the rest is the key to somebody's channel. Therefore
nothing of an answer is stored either, which may repeat it.
"""

from __future__ import annotations

from functools import cached_property
from importlib.util import find_spec
from typing import Any, NamedTuple

from workbell.errors import EndpointRefused, MissingPackage, SecretSealed, SendFailed
from workbell.events.alerting import stored_job
from workbell.events.fan_out import DELIVERY_QUEUE
from workbell.handlers.alert_urls import pinged_url, without_url
from workbell.handlers.context import Context
from workbell.handlers.job_function import JobFunction
from workbell.model.alert import AlertKind
from workbell.model.cancel_snooze import Cancel, TryAgain
from workbell.model.job import ALERT
from workbell.model.limit import Limits, limits_on
from workbell.model.retry import Retry
from workbell.model.run import Run, Status
from workbell.model.schedule import Schedule
from workbell.outgoing.allow import AllowList
from workbell.runs.job_services import RuntimeServices
from workbell.runs.runtime import Runtime
from workbell.stores.port import Filter, Store
from workbell.trust.sealing import Sealer
from workbell.webhooks.alert_message import alert_body, ping_body
from workbell.webhooks.delivery import MakeSender, make_sender
from workbell.webhooks.message import USER_AGENT
from workbell.webhooks.verdict import verdict

RETRY = Retry(attempts=5, delay=30, factor=5, cap=2700, jitter=0.1)  # 30 s, 2.5 min, 12.5 min, 45 min: an hour
TIMEOUT = 10.0
PINGED = (Status.SUCCEEDED, Status.FAILED)
AT_ONCE = 3  # to one URL
LIMITS = Limits(concurrency=AT_ONCE)
BY_URL = Limits(concurrency=AT_ONCE, concurrency_key="url")


def alert_job(runtime: Runtime, senders: MakeSender = make_sender) -> JobFunction[Any, Any] | None:
    """The job itself; none where nothing can be sent, so that alerts wait for a worker that can."""
    if senders is make_sender and find_spec("httpx2") is None:
        return None
    alerter = Alerter(runtime, senders)

    async def alert(ctx: Context, run: str, kind: str) -> Any:
        return await alerter.send(ctx, run, AlertKind(kind))

    job: JobFunction[Any, Any] = JobFunction(
        RuntimeServices(runtime),
        alert,
        job=ALERT,
        queue=DELIVERY_QUEUE,
        handler=f"workbell:{ALERT}",
        description="Reports the end of a run to the URL of its schedule or job.",
        retry=RETRY,
        limits=LIMITS,
    )
    job.limits_of = lambda lane: limits_on(BY_URL, lane)
    return job


class AlertCall(NamedTuple):
    """The run, its schedule and the URL of one call."""

    run: Run
    schedule: Schedule | None
    url: str


class Alerter:
    """Sends for one process."""

    def __init__(self, runtime: Runtime, senders: MakeSender) -> None:
        self._runtime = runtime
        self._senders = senders

    @property
    def _store(self) -> Store:
        return self._runtime.store

    @cached_property
    def _allow(self) -> AllowList:
        return AllowList.parse(self._runtime.registry.resources.webhook_allow)

    @cached_property
    def _sealer(self) -> Sealer:
        return Sealer.from_setting(self._runtime.registry.resources.secret_key)

    async def send(self, ctx: Context, run_id: str, kind: AlertKind) -> dict[str, Any] | Cancel:
        try:
            found = await self._runtime.hop(self._find_call, ctx.run, run_id, kind)
        except (SecretSealed, MissingPackage) as error:
            raise TryAgain(str(error), result={"status_code": None}) from None
        if isinstance(found, str):
            return Cancel(found)
        url, body, media_type = _message(found, kind)
        sender = self._senders(self._allow, TIMEOUT)
        result: dict[str, Any] = {"status_code": None}
        try:
            answer = await sender.post(url, body, {"content-type": media_type, "user-agent": USER_AGENT})
        except MissingPackage as error:
            raise TryAgain(str(error), result=result) from None
        except (SendFailed, EndpointRefused) as error:
            raise TryAgain(without_url(str(error), url), result=result) from None
        result = {"status_code": answer.status, "duration_ms": round(answer.duration * 1000, 1)}
        judged = verdict(answer, self._store.clock.now())
        if judged.words is not None:
            raise TryAgain(judged.words, after=judged.wait, again=judged.disable is None, result=result)
        return result

    def _find_call(self, own: Run, run_id: str, kind: AlertKind) -> AlertCall | str:
        """The call to make, or the reason why there is none."""
        run = self._store.runs.find([run_id]).get(run_id)
        if run is None or run.tenant != own.tenant:
            return "its run was removed"
        schedule = None if run.schedule is None else self._store.schedules.get(run.schedule)
        url = self._url_of(run, schedule, kind)
        if url is None:
            return "it has no URL any more"
        if kind is AlertKind.PING and own.attempt > 1 and self._is_outdated(run):
            return "a later run has ended since, and its own ping reports the state"
        return AlertCall(run, schedule, url)

    def _url_of(self, run: Run, schedule: Schedule | None, kind: AlertKind) -> str | None:
        word = f"{kind}_url"
        own: str | None = None if schedule is None else getattr(schedule.options, word)
        if own is not None:
            return self._sealer.open_url(own)
        job = self._runtime.registry.find(run.job) or stored_job(self._store, run.tenant, run.job, self._runtime.tenant)
        url: str | None = None if job is None else getattr(job, word)
        return None if url is None else self._sealer.open_url(url)

    def _is_outdated(self, run: Run) -> bool:
        """Sent late, that a run succeeded would call off the alarm of a later one that failed."""
        wanted = Filter(run.tenant, PINGED, job=run.job, schedule=run.schedule, limit=1)
        return any(newest.id > run.id for newest in self._store.runs.list(wanted))


def _message(call: AlertCall, kind: AlertKind) -> tuple[str, bytes, str]:
    """Where, what, and as which type."""
    run, schedule, url = call
    if kind is AlertKind.ALERT:
        return url, alert_body(run, schedule), "application/json"
    return (
        pinged_url(url, run.id, failed=run.status is Status.FAILED),
        ping_body(run),
        "text/plain; charset=utf-8",
    )

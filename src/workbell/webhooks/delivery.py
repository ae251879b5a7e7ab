"""The built-in job `webhook-delivery`: sends one event to one endpoint, and acts on the answer.

Without an endpoint it is the run of a trigger, which makes such a run for each of them: see `to_all`.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from workbell.errors import EndpointRefused, MissingPackage, SecretSealed, SendFailed
from workbell.events.fan_out import DELIVERY_QUEUE
from workbell.handlers.context import Context
from workbell.handlers.job_function import JobFunction
from workbell.model.cancel_snooze import Cancel, TryAgain
from workbell.model.endpoint import DELIVERY_RETRY, Endpoint
from workbell.model.event import Event
from workbell.model.job import DELIVERY
from workbell.model.run import Run
from workbell.model.system_events import WEBHOOK_PING
from workbell.outgoing.allow import AllowList
from workbell.runs.job_services import RuntimeServices
from workbell.runs.runtime import Runtime
from workbell.stores.port import Store
from workbell.trust.sealing import Sealer
from workbell.webhooks.disabling import disable, is_given_up
from workbell.webhooks.endpoints import TIMEOUT
from workbell.webhooks.limits import STANDARD, DeliveryLimits
from workbell.webhooks.message import delivery_body, delivery_headers
from workbell.webhooks.to_all import send_to_all
from workbell.webhooks.verdict import DeliveryVerdict, summary_of, verdict

if TYPE_CHECKING:
    from workbell.outgoing.send import Sender

NOTED_EVERY = 60.0  # seconds: a success is noted no more often, so that a healthy endpoint costs no writes

MakeSender = Callable[[AllowList, float], "Sender"]


def make_sender(allow: AllowList, timeout: float) -> Sender:
    from workbell.outgoing.send import Sender  # only where something is sent

    return Sender(allow=allow, timeout=timeout)


def delivery_job(runtime: Runtime, senders: MakeSender = make_sender) -> JobFunction[Any, Any] | None:
    """The job itself; none where nothing can be sent, so that deliveries wait for a worker that can."""
    if senders is make_sender and find_spec("httpx2") is None:
        return None
    limits = DeliveryLimits(runtime.subscriptions)
    deliverer = Deliverer(runtime, senders, limits)

    async def deliver(ctx: Context, endpoint: str | None = None) -> Any:
        return await (deliverer.deliver_to_all(ctx) if endpoint is None else deliverer.deliver(ctx, endpoint))

    job: JobFunction[Any, Any] = JobFunction(
        RuntimeServices(runtime),
        deliver,
        job=DELIVERY,
        queue=DELIVERY_QUEUE,
        handler=f"workbell:{DELIVERY}",
        description="Sends an event to a webhook endpoint; started by a trigger, to all.",
        retry=DELIVERY_RETRY,
        limits=STANDARD,
    )
    job.limits_of = limits
    job.processor = True
    return job


class Deliverer:
    """Sends for one process."""

    def __init__(self, runtime: Runtime, senders: MakeSender, limits: DeliveryLimits) -> None:
        self._runtime = runtime
        self._limits = limits
        self._senders = senders
        self._noted: dict[str, float] = {}  # when a success was last noted, by endpoint
        # Now: a worker with a wrong key must not start, and then fail what it takes.
        self._sealer = Sealer.from_setting(runtime.registry.resources.secret_key)

    @property
    def _store(self) -> Store:
        return self._runtime.store

    @cached_property
    def _allow(self) -> AllowList:
        return AllowList.parse(self._runtime.registry.resources.webhook_allow)

    async def deliver(self, ctx: Context, endpoint_id: str) -> dict[str, Any] | Cancel:
        endpoint, event = await self._runtime.hop(self._find, endpoint_id, ctx.run.event)
        if endpoint is None or endpoint.tenant != ctx.run.tenant:
            return Cancel("its endpoint was deleted")
        if not endpoint.enabled:
            return Cancel(f"its endpoint is disabled: {endpoint.reason}")
        if event is None:
            return Cancel("its event was removed")
        if endpoint.unreadable is not None:  # it may be mended: nothing is sent unsigned, and it is not its fault
            raise TryAgain(f"endpoint {endpoint.id}: {endpoint.unreadable}", result={"status_code": None})
        body, now = delivery_body(event), self._store.clock.now()
        sender = self._senders(self._allow, endpoint.timeout or TIMEOUT)
        try:
            headers = delivery_headers(ctx.run, endpoint, event, body, now, self._sealer)
            answer = await sender.post(self._sealer.open_url(endpoint.url), body, headers)
        except (SecretSealed, MissingPackage) as error:  # our own fault: it does not count against the endpoint
            raise TryAgain(str(error), result={"status_code": None}) from None
        except (SendFailed, EndpointRefused) as error:
            raise await self._failed(endpoint, event, DeliveryVerdict(str(error)), {"status_code": None}) from None
        found = verdict(answer, self._store.clock.now())
        if found.words is not None:
            raise await self._failed(endpoint, event, found, summary_of(answer))
        await self._succeeded(endpoint, again=ctx.run.attempt > 1)
        return summary_of(answer)

    async def deliver_to_all(self, ctx: Context) -> dict[str, Any] | Cancel:
        made = await self._runtime.hop(self._make_deliveries, ctx.run)
        self._runtime.wake()
        return made

    def _make_deliveries(self, run: Run) -> dict[str, Any] | Cancel:
        return send_to_all(self._store, self._runtime.subscriptions.current(), run, self._runtime.maker)

    def _find(self, endpoint_id: str, event_id: str | None) -> tuple[Endpoint | None, Event | None]:
        endpoint = self._runtime.subscriptions.current().endpoints.get(endpoint_id)
        return endpoint, self._store.events.find([event_id]).get(event_id) if event_id else None

    async def _succeeded(self, endpoint: Endpoint, *, again: bool) -> None:
        at = self._store.clock.monotonic()
        # Others wait for the news; or this very delivery failed before, perhaps in another process.
        if again or self._limits.is_failing(endpoint.id):
            self._noted.pop(endpoint.id, None)
        if at - self._noted.get(endpoint.id, -NOTED_EVERY) >= NOTED_EVERY:
            self._noted[endpoint.id] = at
            await self._runtime.hop(self._store.subscribers.note_delivery, endpoint.id, True, self._store.clock.now())

    async def _failed(
        self, endpoint: Endpoint, event: Event, found: DeliveryVerdict, result: dict[str, Any]
    ) -> TryAgain:
        """The error to raise; the endpoint is switched off if it is time for that."""
        self._noted.pop(endpoint.id, None)
        if event.type != WEBHOOK_PING or found.disable:  # frequent test pings must not get it disabled sooner
            await self._runtime.hop(self._note_failure, endpoint, found.disable)
        return TryAgain(found.words or "", after=found.wait, again=found.disable is None, result=result)

    def _note_failure(self, endpoint: Endpoint, reason: str | None) -> None:
        now = self._store.clock.now()
        health = self._store.subscribers.note_delivery(endpoint.id, False, now)
        after = timedelta(seconds=self._runtime.registry.resources.webhook_disable_after)
        if reason is None and is_given_up(health, now, after):
            since = f"{health.failing_since:%Y-%m-%d %H:%M} UTC"
            reason = f"{health.failures} attempts in a row have failed since {since}"
        if reason is not None:
            disable(self._store, self._runtime.subscriptions, endpoint.id, reason, now, endpoint.url)

"""Methods of `bell.webhooks`: add, list, get, update, rotate, enable, disable, delete, test."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, Unpack

import msgspec

from workbell.errors import InvalidOption, SettingsError, StoreError
from workbell.events.fan_out import delivery_lane, ping_destination, ping_lane, request_for
from workbell.model.clock import span
from workbell.model.delivery import Delivery
from workbell.model.endpoint import BY_HAND, Endpoint, Health
from workbell.model.event import SYSTEM_SOURCE, Event, Match, MatchOutcome, Rematch
from workbell.model.ids import is_id, new_id
from workbell.model.job import DELIVERY
from workbell.model.json_text import clean_text, encode
from workbell.model.run import Attempt, Status
from workbell.model.system_events import WEBHOOK_PING
from workbell.outgoing.allow import AllowList
from workbell.runs.runtime import Runtime, in_thread
from workbell.runs.verbs import Runs
from workbell.stores.port import MOST_ATTEMPTS, Filter
from workbell.trust.sealing import COMMAND, VARIABLE, Sealer
from workbell.webhooks import replay
from workbell.webhooks.changing import EndpointUpdate, change
from workbell.webhooks.describe import NewEndpoint, delivery_of
from workbell.webhooks.disabling import disable
from workbell.webhooks.endpoint_reader import EndpointReader
from workbell.webhooks.endpoints import (
    OVERLAP,
    EndpointSettings,
    checked_url,
    first_secret,
    opened,
    resealed,
    rotated,
    settled,
    with_sealed_url,
)
from workbell.webhooks.schedule_urls import seal_schedules
from workbell.webhooks.signature import check_secret, new_secret
from workbell.wire.webhooks import EndpointShown

PAGE = 1000


class Webhooks:
    """The webhook endpoints of a tenant: `bell.webhooks`."""

    def __init__(self, runtime: Runtime, runs: Runs) -> None:
        self._runtime = runtime
        self._runs = runs
        self._reader = EndpointReader(runtime)

    @property
    def _sealer(self) -> Sealer:
        return self._reader.sealer

    @property
    def _allow(self) -> AllowList:
        return AllowList.parse(self._runtime.registry.resources.webhook_allow)

    # Make and change

    def add(self, url: str, *, secret: str | None = None, **settings: Unpack[EndpointSettings]) -> NewEndpoint:
        """Have events sent to a URL: `endpoint, secret = bell.webhooks.add("https://…", patterns=["posts.*"])`.

        The secret, made here if you give none, signs every delivery. It is returned now, and never shown again.
        """
        url = checked_url(url, self._allow)
        fields = settled({"patterns": "", **settings}, self._sealer)  # "": it must be said which events
        now = self._runtime.store.clock.now()
        text, secrets = first_secret(secret, now, self._sealer)
        endpoint = Endpoint(
            id=new_id(),
            url=self._sealer.seal_url(url),
            tenant=self._runtime.tenant,
            secrets=secrets,
            created_at=now,
            updated_at=now,
            **fields,
        )
        if not self._runtime.store.subscribers.write_endpoint(endpoint, None):
            raise StoreError(f"endpoint {endpoint.id}: it could not be stored; try again.")
        return NewEndpoint(opened(endpoint, self._sealer), text)

    aadd = in_thread(add)

    def update(self, endpoint_id: str, *, url: str | None = None, **settings: Unpack[EndpointSettings]) -> Endpoint:
        """Change what is named; the rest stays."""
        known = self.get(endpoint_id)
        fields = settled(settings, self._sealer, known.retry)
        if url not in (None, known.url, known.shown_url):  # sent back as it was read, it stays
            fields["url"] = self._sealer.seal_url(checked_url(url, self._allow))
            self._runtime.store.subscribers.forget_health(endpoint_id)  # the failures were those of the old URL
        return self._change(endpoint_id, **fields)

    aupdate = in_thread(update)

    def rotate(
        self, endpoint_id: str, *, secret: str | None = None, overlap: float | timedelta = OVERLAP
    ) -> NewEndpoint:
        """Give an endpoint another secret. For `overlap` (a day) the old one signs as well, so that none is refused."""
        text = new_secret() if secret is None else check_secret(secret)
        both, sealed, now = span("overlap", overlap), self._sealer.seal(text), self._runtime.store.clock.now()
        self.get(endpoint_id)
        found = self._write(endpoint_id, lambda known: rotated(known, sealed, now, both))
        return NewEndpoint(found, text)

    arotate = in_thread(rotate)

    def seal(self) -> int:
        """Seal the secrets, headers and URLs of all endpoints with the first key of `secret_key`; how many endpoints.

        For when a key was set after they were made, or a new one was put in front of the old. The URLs of schedules
        are sealed with them.
        """
        sealer = self._sealer
        if not sealer.seals:
            raise SettingsError(f"There is no key to seal with; `{COMMAND}` makes one, to be set as {VARIABLE}.")
        for endpoint in self.list():
            change(self._runtime.store, endpoint.id, lambda known: EndpointUpdate(resealed(known, sealer)))
        seal_schedules(self._runtime.store, self._runtime.tenant, sealer)
        return len(self.list())

    aseal = in_thread(seal)

    def enable(self, endpoint_id: str) -> Endpoint:
        """Send again. What failed meanwhile is not sent by itself: see `replay`."""
        self.get(endpoint_id)
        self._runtime.store.subscribers.forget_health(
            endpoint_id
        )  # before: else a failure just now would count in the old row
        return self._change(endpoint_id, enabled=True, reason=None, disabled_at=None)

    aenable = in_thread(enable)

    def disable(self, endpoint_id: str, reason: str = BY_HAND) -> Endpoint:
        """Send nothing more; matching events are recorded, and can be replayed."""
        self.get(endpoint_id)
        store = self._runtime.store
        disable(store, self._runtime.subscriptions, endpoint_id, clean_text(reason, 500), store.clock.now())
        return self.get(endpoint_id)

    adisable = in_thread(disable)

    def delete(self, endpoint_id: str) -> None:
        """Remove an endpoint; its deliveries stay until their time is over, and those not sent yet are canceled."""
        self.get(endpoint_id)
        self._runtime.store.subscribers.delete_endpoint(endpoint_id)

    adelete = in_thread(delete)

    def _change(self, endpoint_id: str, **fields: Any) -> Endpoint:
        self.get(endpoint_id)
        now = self._runtime.store.clock.now()

        def decide(known: Endpoint) -> Endpoint:
            unreadable = known.unreadable and known.unreadable.left(fields)
            new = msgspec.structs.replace(known, **fields, unreadable=unreadable)
            return new if new == known else msgspec.structs.replace(new, updated_at=now)

        return self._write(endpoint_id, decide)

    def _write(self, endpoint_id: str, decide: Callable[[Endpoint], Endpoint]) -> Endpoint:
        """Change an endpoint; where nothing changes, nothing is written."""
        sealer, store = self._sealer, self._runtime.store

        def update(known: Endpoint) -> EndpointUpdate | None:
            new = with_sealed_url(decide(known), sealer)
            return None if new == known else EndpointUpdate(new)

        found = change(store, endpoint_id, update)
        return self.get(endpoint_id) if found is None else opened(found, sealer)

    # Read

    def get(self, endpoint_id: str) -> Endpoint:
        """An endpoint by its id."""
        return opened(self._reader.find(endpoint_id), self._sealer)

    aget = in_thread(get)

    def list(self) -> Sequence[Endpoint]:
        """All endpoints, oldest first."""
        return [opened(endpoint, self._sealer) for endpoint in self._reader.list()]

    alist = in_thread(list)  # noqa: A003

    def health(self, endpoint_id: str) -> Health:
        """How deliveries to an endpoint go."""
        self.get(endpoint_id)
        return self._runtime.store.subscribers.find_health(endpoint_id)

    ahealth = in_thread(health)

    def describe(self, endpoint_id: str) -> dict[str, Any]:
        """An endpoint and how it goes, ready for JSON; without its secrets and the values of its headers."""
        return _as_dict(self._reader.find_shown(endpoint_id))

    adescribe = in_thread(describe)

    def describe_all(self) -> Sequence[dict[str, Any]]:
        """All endpoints as `describe` shows them, oldest first."""
        return [_as_dict(self._reader.show(endpoint)) for endpoint in self._reader.list()]

    adescribe_all = in_thread(describe_all)

    # Deliveries

    def deliveries(
        self, endpoint_id: str, *, status: str | None = None, before: str | None = None, limit: int = 100
    ) -> Sequence[Delivery]:
        """Deliveries to an endpoint, sent and still to be sent, newest first; `attempts` has each try of one."""
        endpoint = self.get(endpoint_id)
        if not 1 <= limit <= PAGE:
            raise InvalidOption(f"limit: {limit} is not from 1 to {PAGE}.")
        if before is not None and not is_id(before):
            raise InvalidOption(f"before: {before!r:.60} is no id of a delivery.")
        if status is not None and status not in tuple(Status):
            raise InvalidOption(f"status: {status!r} is none of {', '.join(Status)}.")
        statuses = () if status is None else (Status(status),)
        wanted = Filter(self._runtime.tenant, statuses, job=DELIVERY, before=before, limit=limit)
        lanes = (delivery_lane(endpoint), ping_lane(endpoint))
        runs = [run for lane in lanes for run in self._runtime.store.runs.list(wanted._replace(lane_key=lane.key))]
        newest = sorted(runs, key=lambda run: run.id, reverse=True)[:limit]
        return [delivery_of(run) for run in newest]

    adeliveries = in_thread(deliveries)

    def attempts(self, delivery_id: str, *, after: int = 0, limit: int = MOST_ATTEMPTS) -> Sequence[Attempt]:
        """Tries of a delivery from beyond number `after`; the `result` of each has `status_code`, `duration_ms` and the
        beginning of the `answer`."""
        return self._runs.attempts(delivery_id, after=after, limit=limit)

    aattempts = in_thread(attempts)

    def replay(
        self, endpoint_id: str, *, event: str | None = None, since: datetime | None = None
    ) -> Sequence[Delivery]:
        """Send again: one event, whatever its outcome, or all since a time that were not delivered.

        The receiver gets them under the same `webhook-id` as before, and can recognise one that it has seen.
        """
        endpoint = self.get(endpoint_id)
        if not endpoint.enabled:
            raise InvalidOption(f"endpoint {endpoint_id} is disabled: {endpoint.reason}; enable it first.")
        return [delivery_of(run) for run in replay.replay(self._runtime.store, endpoint, event=event, since=since)]

    areplay = in_thread(replay)

    def test(self, endpoint_id: str) -> Delivery:
        """Send a `webhook.ping` to this endpoint, and to no other; the answer is the delivery, to be waited for."""
        endpoint = self.get(endpoint_id)
        if not endpoint.enabled:
            raise InvalidOption(f"endpoint {endpoint_id} is disabled: {endpoint.reason}; enable it first.")
        store, now = self._runtime.store, self._runtime.store.clock.now()
        event = Event(
            new_id(),
            endpoint.tenant,
            WEBHOOK_PING,
            SYSTEM_SOURCE,
            now,
            now,
            subject=endpoint.id,
            data_text=encode("event", {"endpoint": endpoint.id}),
            system=True,
            fanned_out_at=now,  # it is for this endpoint alone
        )
        store.events.add([event])
        request = request_for(event, endpoint, now, ping_destination(endpoint), self._runtime.maker)
        match = Match(event.id, endpoint.id, MatchOutcome.STARTED, now, request.run.id)
        store.events.rematch([Rematch(request, match)])
        self._runtime.wake()
        return delivery_of(request.run)

    atest = in_thread(test)


def _as_dict(shown: EndpointShown) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(shown, builtin_types=[datetime])
    return found

"""Fan-out of an event to all endpoints of its tenant, for triggers with the processor `webhook-delivery` (C8).

The ledger has one entry for each event and endpoint. Its writer makes the delivery, so there is one, whether
the endpoint's own pattern matched as well, another such trigger did, or the run is repeated after a crash.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import msgspec

from workbell.events.fan_out import Destination, delivery_lane, request_for
from workbell.events.subscriptions import SubscriberSnapshot
from workbell.model.cancel_snooze import Cancel
from workbell.model.endpoint import Endpoint
from workbell.model.event import Event, Match, MatchOutcome, Rematch
from workbell.model.request import with_parent
from workbell.model.retry import Retry
from workbell.model.run import Run
from workbell.model.run_defaults import Maker, RunDefaults
from workbell.stores.port import Store
from workbell.webhooks.replay import matches_of

BATCH = 500  # endpoints in one transaction
SHOWN = 100  # endpoints that a result names


def send_to_all(store: Store, subscriptions: SubscriberSnapshot, run: Run, maker: Maker) -> dict[str, Any] | Cancel:
    """Make the deliveries of a run's event, to each enabled endpoint that is not in the event's ledger yet."""
    event = store.events.find([run.event]).get(run.event) if run.event is not None else None
    if event is None:
        return Cancel("its event was removed")
    trigger = subscriptions.triggers.get(run.options.trigger or "")
    retry = None if trigger is None else trigger.retry
    known = {match.subscriber: match for match in matches_of(store, event.id)}
    endpoints = [one for one in subscriptions.endpoints.values() if one.tenant == run.tenant]
    new = [_match(store, event, endpoint, retry, run, maker) for endpoint in endpoints if endpoint.id not in known]
    for start in range(0, len(new), BATCH):
        store.events.rematch(new[start : start + BATCH])
    return _result(store, run, {one.id for one in endpoints})


def _match(store: Store, event: Event, endpoint: Endpoint, retry: Retry | None, run: Run, maker: Maker) -> Rematch:
    """Ledger entry of an endpoint; for a disabled one without a delivery, so that it can be replayed."""
    now = store.clock.now()
    if not endpoint.enabled:
        reason = endpoint.reason or "it was disabled"
        return Rematch(None, Match(event.id, endpoint.id, MatchOutcome.DISABLED, now, None, reason))
    destination = Destination(delivery_lane(endpoint), RunDefaults(retry=retry or endpoint.retry))
    request = request_for(event, endpoint, now, destination, maker)
    request = msgspec.structs.replace(request, run=with_parent(request.run, run.id))
    return Rematch(request, Match(event.id, endpoint.id, MatchOutcome.STARTED, now, request.run.id))


def _result(store: Store, run: Run, endpoints: Collection[str]) -> dict[str, Any]:
    """What the ledger says now: the same for every attempt, also if an earlier one has made some of the deliveries."""
    assert run.event is not None
    found = [match for match in matches_of(store, run.event) if match.subscriber in endpoints]
    disabled = sum(match.outcome is MatchOutcome.DISABLED for match in found)
    sent = [match for match in found if match.run is not None]
    mine: set[str] = set()
    for start in range(0, len(sent), BATCH):
        runs = store.runs.find([match.run for match in sent[start : start + BATCH] if match.run is not None])
        mine |= {one.id for one in runs.values() if one.parent == run.id}
    already = [match.subscriber for match in sent if match.run not in mine]
    return {
        "deliveries": len(mine),
        "already": len(already),
        "disabled": disabled,
        "already_endpoints": already[:SHOWN],
    }

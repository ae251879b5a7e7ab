"""Endpoints and deliveries as the API shows them: never a secret, never the value of a header."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from workbell.errors import SecretSealed
from workbell.model.alert import SEALED
from workbell.model.delivery import Delivery
from workbell.model.endpoint import Endpoint, Health
from workbell.model.job import DELIVERY
from workbell.model.run import Run, Status
from workbell.trust.sealing import Sealer
from workbell.webhooks.slowed import Slowed
from workbell.wire.runs import RunShown
from workbell.wire.webhooks import EndpointShown, SlowedShown


class NewEndpoint(NamedTuple):
    """An endpoint, and its secret: this once, and never again."""

    endpoint: Endpoint
    secret: str

    def __repr__(self) -> str:
        return f"NewEndpoint({self.endpoint!r}, secret=…)"


def is_delivery(run: Run) -> bool:
    """Whether a run sends to one endpoint; a trigger's run of the same job makes such runs."""
    return run.job == DELIVERY and run.lane.key is not None


def delivery_of(run: Run | RunShown) -> Delivery:
    result = run.result if isinstance(run.result, dict) else {}
    return Delivery(
        id=run.id,
        endpoint=str(run.input.get("endpoint", "")),
        event=run.event,
        status=run.status,
        attempts=run.attempt,
        created_at=run.created_at,
        status_code=result.get("status_code"),
        duration_ms=result.get("duration_ms"),
        answer=result.get("answer"),
        error=_error_of(run),
        next_attempt_at=run.scheduled_for if run.status is Status.SCHEDULED else None,
        finished_at=run.finished_at,
    )


def _error_of(run: Run | RunShown) -> str | None:
    """Error of the last attempt that has ended, or why it was canceled. While it is sent again, it has none yet."""
    if run.status is Status.RUNNING:
        return None
    return run.error or (run.reason if run.status is Status.CANCELED else None)


def describe(endpoint: Endpoint, health: Health, brake: Slowed | None, sealer: Sealer) -> EndpointShown:
    """A stored endpoint, and how it goes."""
    slowed = None
    if brake is not None:
        slowed = SlowedShown(since=brake.since, waiting=brake.waiting.count, capped=brake.waiting.capped)
    return EndpointShown.of(
        endpoint,
        health,
        url=_url(endpoint, sealer),
        header_names=_header_names(endpoint, sealer),
        sealed=is_sealed(endpoint),
        slowed=slowed,
    )


def is_sealed(endpoint: Endpoint) -> bool:
    """Whether everything secret about it is stored sealed."""
    headers = [] if endpoint.headers_text is None else [endpoint.headers_text]
    return all(text.startswith(SEALED) for text in (endpoint.url, *headers, *(one.text for one in endpoint.secrets)))


def _url(endpoint: Endpoint, sealer: Sealer) -> str:
    """The URL; only its host if it is sealed with an unknown key."""
    try:
        return sealer.open_url(endpoint.url)
    except SecretSealed:
        return endpoint.shown_url


def _header_names(endpoint: Endpoint, sealer: Sealer) -> list[str] | None:
    """Names of the headers; none if they are sealed with an unknown key."""
    if endpoint.headers_text is None:
        return []
    try:
        return sorted(msgspec.json.decode(sealer.open(endpoint.headers_text), type=dict[str, str]))
    except SecretSealed:
        return None

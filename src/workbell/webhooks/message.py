"""HTTP message of a delivery: body and headers."""

from __future__ import annotations

from datetime import datetime

import msgspec

from workbell.model.endpoint import Endpoint
from workbell.model.event import Event
from workbell.model.run import Run
from workbell.trust.sealing import Sealer
from workbell.version import __version__
from workbell.webhooks import signature

USER_AGENT = f"Workbell/{__version__}"
_headers = msgspec.json.Decoder(dict[str, str])


def delivery_body(event: Event) -> bytes:
    """The event as CloudEvents writes it in JSON. `timestamp`, an extension of it, is what Standard Webhooks calls its
    time; with `type` and `data` it has the three fields that those recommend. The same bytes at every attempt."""
    return msgspec.json.encode(event.cloud_event() | {"timestamp": event.time})


def delivery_headers(
    delivery: Run, endpoint: Endpoint, event: Event, body: bytes, now: datetime, sealer: Sealer
) -> dict[str, str]:
    """The endpoint's own headers, the delivery and its attempt, and signatures by every secret that is valid now."""
    own = {} if endpoint.headers_text is None else _headers.decode(sealer.open(endpoint.headers_text))
    secrets = [sealer.open(one.text) for one in endpoint.secrets if one.until is None or one.until > now]
    fixed = {"content-type": "application/json", "user-agent": USER_AGENT}
    counted = {"webhook-delivery-id": delivery.id, "webhook-delivery-attempt": str(delivery.attempt)}
    return fixed | own | counted | signature.headers(event.id, now, body, secrets)

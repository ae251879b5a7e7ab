"""Methods about webhooks, over HTTP: `client.webhooks`. Endpoints come as dicts; no secret is ever among them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

from workbell.model.clock import aware, seconds
from workbell.model.delivery import Delivery
from workbell.model.endpoint import Health
from workbell.model.run import Attempt
from workbell.model.trigger import config_of, retry_from
from workbell.remote import readers, words
from workbell.remote.call import Plan, RemoteCall, delete, get, path, post
from workbell.remote.options import body
from workbell.remote.transport import ServiceTransport

if TYPE_CHECKING:
    from workbell.webhooks.endpoints import EndpointSettings

BY_HAND = "disabled by hand"
OVERLAP = timedelta(days=1)

_read_endpoint = readers.plain(dict[str, Any])
_read_endpoints = readers.plain_page(dict[str, Any])
_read_delivery, _read_deliveries = readers.plain(Delivery), readers.plain_items(Delivery)
_read_page_of_deliveries = readers.plain_page(Delivery)


class RemoteNewEndpoint(NamedTuple):
    """An endpoint, and its secret: this once, and never again."""

    endpoint: dict[str, Any]
    secret: str

    def __repr__(self) -> str:
        return f"NewEndpoint({self.endpoint.get('id')!r}, secret=…)"


class RemoteWebhooks:
    """The webhook endpoints of a tenant: `client.webhooks`."""

    def __init__(self, transport: ServiceTransport) -> None:
        self._transport = transport

    # Make and change

    def add(self, url: str, *, secret: str | None = None, **settings: Unpack[EndpointSettings]) -> RemoteNewEndpoint:
        """Have events sent to a URL: `endpoint, secret = client.webhooks.add("https://…", patterns=["posts.*"])`.

        The secret, made there if you give none, signs every delivery. It is shown now, and never again.
        """
        return self._transport.follow(_add(url, secret, settings))

    async def aadd(
        self, url: str, *, secret: str | None = None, **settings: Unpack[EndpointSettings]
    ) -> RemoteNewEndpoint:
        return await self._transport.afollow(_add(url, secret, settings))

    def update(
        self, endpoint_id: str, *, url: str | None = None, **settings: Unpack[EndpointSettings]
    ) -> dict[str, Any]:
        """Change what is named; the rest stays."""
        return self._transport.send(_update(endpoint_id, url, settings))

    async def aupdate(
        self, endpoint_id: str, *, url: str | None = None, **settings: Unpack[EndpointSettings]
    ) -> dict[str, Any]:
        return await self._transport.asend(_update(endpoint_id, url, settings))

    def rotate(
        self, endpoint_id: str, *, secret: str | None = None, overlap: float | timedelta = OVERLAP
    ) -> RemoteNewEndpoint:
        """Give an endpoint another secret. For `overlap` (a day) the old one signs as well, so that none is refused."""
        return self._transport.follow(_rotate(endpoint_id, secret, overlap))

    async def arotate(
        self, endpoint_id: str, *, secret: str | None = None, overlap: float | timedelta = OVERLAP
    ) -> RemoteNewEndpoint:
        return await self._transport.afollow(_rotate(endpoint_id, secret, overlap))

    def enable(self, endpoint_id: str) -> dict[str, Any]:
        """Send again. What failed meanwhile is not sent by itself: see `replay`."""
        return self._transport.send(_enable(endpoint_id))

    async def aenable(self, endpoint_id: str) -> dict[str, Any]:
        return await self._transport.asend(_enable(endpoint_id))

    def disable(self, endpoint_id: str, reason: str = BY_HAND) -> dict[str, Any]:
        """Send nothing more; matching events are recorded, and can be replayed."""
        return self._transport.send(_disable(endpoint_id, reason))

    async def adisable(self, endpoint_id: str, reason: str = BY_HAND) -> dict[str, Any]:
        return await self._transport.asend(_disable(endpoint_id, reason))

    def delete(self, endpoint_id: str) -> None:
        """Remove an endpoint; its deliveries stay until their time is over, and those not sent yet are canceled."""
        self._transport.send(delete(path("webhooks", endpoint_id)))

    async def adelete(self, endpoint_id: str) -> None:
        await self._transport.asend(delete(path("webhooks", endpoint_id)))

    # Read

    def get(self, endpoint_id: str) -> dict[str, Any]:
        """An endpoint and how it goes, without its secrets and the values of its headers."""
        return self._transport.send(_get(endpoint_id))

    async def aget(self, endpoint_id: str) -> dict[str, Any]:
        return await self._transport.asend(_get(endpoint_id))

    def list(self) -> Sequence[dict[str, Any]]:
        """All endpoints, oldest first."""
        return self._transport.follow(_list())

    async def alist(self) -> Sequence[dict[str, Any]]:
        return await self._transport.afollow(_list())

    def health(self, endpoint_id: str) -> Health:
        """Health of an endpoint: how its deliveries go."""
        return self._transport.send(_health(endpoint_id))

    async def ahealth(self, endpoint_id: str) -> Health:
        return await self._transport.asend(_health(endpoint_id))

    def describe(self, endpoint_id: str) -> dict[str, Any]:
        """The same as `get`: over HTTP that is all there is to see."""
        return self.get(endpoint_id)

    async def adescribe(self, endpoint_id: str) -> dict[str, Any]:
        return await self.aget(endpoint_id)

    def describe_all(self) -> Sequence[dict[str, Any]]:
        """The same as `list`."""
        return self.list()

    async def adescribe_all(self) -> Sequence[dict[str, Any]]:
        return await self.alist()

    # Deliveries

    def deliveries(
        self, endpoint_id: str, *, status: str | None = None, before: str | None = None, limit: int = 100
    ) -> Sequence[Delivery]:
        """Deliveries to an endpoint, newest first; `attempts` says how each try of one went."""
        return self._transport.follow(_deliveries(endpoint_id, status, before, limit))

    async def adeliveries(
        self, endpoint_id: str, *, status: str | None = None, before: str | None = None, limit: int = 100
    ) -> Sequence[Delivery]:
        return await self._transport.afollow(_deliveries(endpoint_id, status, before, limit))

    def attempts(self, delivery_id: str) -> Sequence[Attempt]:
        """Every try of a delivery; its `result` has `status_code`, `duration_ms` and the beginning of the `answer`."""
        return self._transport.send(_attempts(delivery_id))

    async def aattempts(self, delivery_id: str) -> Sequence[Attempt]:
        return await self._transport.asend(_attempts(delivery_id))

    def replay(
        self, endpoint_id: str, *, event: str | None = None, since: datetime | None = None
    ) -> Sequence[Delivery]:
        """Send again: one event, whatever its outcome, or all since a time that were not delivered."""
        return self._transport.send(_replay(endpoint_id, event, since))

    async def areplay(
        self, endpoint_id: str, *, event: str | None = None, since: datetime | None = None
    ) -> Sequence[Delivery]:
        return await self._transport.asend(_replay(endpoint_id, event, since))

    def test(self, endpoint_id: str) -> Delivery:
        """Send a `webhook.ping` to this endpoint, and to no other; the answer is the delivery, to be waited for."""
        return self._transport.send(_test(endpoint_id))

    async def atest(self, endpoint_id: str) -> Delivery:
        return await self._transport.asend(_test(endpoint_id))


def _fields(settings: Any) -> dict[str, Any]:
    fields = dict(settings)
    if "retry" in fields:
        policy = retry_from(fields.pop("retry"))
        fields["retry_config"] = None if policy is None else config_of(policy)
    if isinstance(fields.get("patterns"), str):
        fields["patterns"] = [fields["patterns"]]
    return fields


def _add(url: str, secret: str | None, settings: Any) -> Plan[RemoteNewEndpoint]:
    fields = {"url": url, **_fields(settings)} | ({} if secret is None else {"secret": secret})
    while True:
        made: dict[str, Any] = yield post(path("webhooks"), _read_endpoint, body("endpoint", fields))
        text = made.pop("secret", None) or secret
        if text is not None:
            return RemoteNewEndpoint(made, text)
        # The answer was lost, and with it the secret that was made there: nobody could verify what it signs.
        yield delete(path("webhooks", made["id"]))


def _update(endpoint_id: str, url: str | None, settings: Any) -> RemoteCall[dict[str, Any]]:
    fields = _fields(settings) | ({} if url is None else {"url": url})
    where = path("webhooks", endpoint_id)
    return RemoteCall(method="PATCH", path=where, read=_read_endpoint, body=body("endpoint", fields))


def _rotate(endpoint_id: str, secret: str | None, overlap: float | timedelta) -> Plan[RemoteNewEndpoint]:
    fields = {"overlap": seconds("overlap", overlap)} | ({} if secret is None else {"secret": secret})
    while True:
        made: dict[str, Any] = yield post(path("webhooks", endpoint_id, "rotate"), _read_endpoint, fields)
        text = made.pop("secret", None) or secret
        if text is not None:
            return RemoteNewEndpoint(made, text)
        # The answer was lost, and with it the secret: have another one made.


def _enable(endpoint_id: str) -> RemoteCall[dict[str, Any]]:
    return post(path("webhooks", endpoint_id, "enable"), _read_endpoint)


def _disable(endpoint_id: str, reason: str) -> RemoteCall[dict[str, Any]]:
    return post(path("webhooks", endpoint_id, "disable"), _read_endpoint, {"reason": reason})


def _get(endpoint_id: str) -> RemoteCall[dict[str, Any]]:
    return get(path("webhooks", endpoint_id), _read_endpoint)


def _list() -> Plan[list[dict[str, Any]]]:
    return readers.every(path("webhooks"), _read_endpoints)


def _health(endpoint_id: str) -> RemoteCall[Health]:
    return get(path("webhooks", endpoint_id), words.read_health)


def _deliveries(endpoint_id: str, status: str | None, before: str | None, limit: int) -> Plan[list[Delivery]]:
    where = path("webhooks", endpoint_id, "deliveries")
    return readers.up_to(limit, where, _read_page_of_deliveries, start=before, status=status)


def _attempts(delivery_id: str) -> RemoteCall[list[Attempt]]:
    return get(path("runs", delivery_id, "attempts"), words.read_attempts)


def _replay(endpoint_id: str, event: str | None, since: datetime | None) -> RemoteCall[list[Delivery]]:
    fields = {"event": event, "since": None if since is None else aware("since", since)}
    given = {word: value for word, value in fields.items() if value is not None}
    return post(path("webhooks", endpoint_id, "replay"), _read_deliveries, given)


def _test(endpoint_id: str) -> RemoteCall[Delivery]:
    return post(path("webhooks", endpoint_id, "test"), _read_delivery)

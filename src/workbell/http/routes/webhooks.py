"""Handlers of webhooks: endpoints, their secrets and deliveries. Secrets are never shown again."""

from __future__ import annotations

import msgspec
from msgspec import UNSET
from starlette.responses import Response

from workbell.errors import RunNotFound
from workbell.http.framework.bounded_pages import PageSource, by_id, page_of, read_page
from workbell.http.framework.call import ApiCall
from workbell.http.framework.operations import Served
from workbell.http.framework.parsing import check_read_only
from workbell.http.framework.problems import InvalidRequest
from workbell.http.policies.idempotency import MadeOnce, answer_secret
from workbell.http.routes.runs import attempts_page
from workbell.model.access import Scope
from workbell.model.delivery import Delivery
from workbell.webhooks.describe import NewEndpoint, is_delivery
from workbell.webhooks.endpoint_reader import EndpointReader
from workbell.wire import webhooks
from workbell.wire.operation import Items, ListPage
from workbell.wire.runs import AttemptShown, AttemptsQuery
from workbell.wire.webhooks import (
    DeliveriesQuery,
    DeliverySettings,
    DisableBody,
    EndpointBody,
    EndpointChange,
    EndpointShown,
    EndpointsQuery,
    MadeEndpoint,
    ReplayBody,
    RotateBody,
)

served = Served()


async def _shown(call: ApiCall, endpoint_id: str) -> EndpointShown:
    found = await call.client.runtime.hop(EndpointReader(call.client.runtime).find_shown, endpoint_id)
    return _fit_for(call, found)


def _fit_for(call: ApiCall, endpoint: EndpointShown) -> EndpointShown:
    """The endpoint; without the scope `operate` the query of its URL is masked."""
    return endpoint if call.access.may(Scope.OPERATE) else endpoint.masked()


async def _shown_once(call: ApiCall, made: NewEndpoint) -> MadeOnce:
    """The endpoint with its secret; the answer stored for an idempotency key has neither secret nor URL query."""
    shown = await _shown(call, made.endpoint.id)
    return MadeOnce(MadeEndpoint.without_secret(shown), {"secret": made.secret, "url": shown.url})


@served(webhooks.add)
async def add(call: ApiCall, body: EndpointBody) -> Response:
    check_read_only(call.read_only, id=None, tenant=call.client.tenant, enabled=True)
    _check_headers(call, body, [])

    async def make() -> MadeOnce:
        made = await call.client.webhooks.aadd(**body.options())
        call.subject = made.endpoint.id
        return await _shown_once(call, made)

    return await answer_secret(call, make)


@served(webhooks.list_)
async def list_(call: ApiCall, query: EndpointsQuery) -> ListPage[EndpointShown]:
    return await call.client.runtime.hop(_page, call, query)


def _page(call: ApiCall, query: EndpointsQuery) -> ListPage[EndpointShown]:
    """A page of endpoints; only those on it are described, which reads the health of each."""
    reader = EndpointReader(call.client.runtime)
    show = lambda endpoint: _fit_for(call, reader.show(endpoint))  # noqa: E731
    return page_of(reader.list(), by_id, query.after, query.limit, show)


@served(webhooks.get)
async def get(call: ApiCall, endpoint_id: str) -> EndpointShown:
    return await _shown(call, endpoint_id)


@served(webhooks.change)
async def change(call: ApiCall, endpoint_id: str, body: EndpointChange) -> EndpointShown:
    if call.read_only:
        known = await _shown(call, endpoint_id)
        check_read_only(call.read_only, id=known.id, tenant=known.tenant, enabled=known.enabled)
        _check_headers(call, body, known.header_names)
    await call.client.webhooks.aupdate(endpoint_id, **body.options())
    return await _shown(call, endpoint_id)


def _check_headers(call: ApiCall, body: DeliverySettings, known: list[str] | None) -> None:
    """Raise if a body names other headers than there are, and does not send them."""
    sent = call.read_only.get("header_names")
    if sent is not None and body.headers is UNSET and msgspec.json.decode(sent) != known:
        raise InvalidRequest(
            "body.header_names",
            "the values of headers are never shown; send headers with their values, or leave it out",
        )


@served(webhooks.delete)
async def delete(call: ApiCall, endpoint_id: str) -> None:
    await call.client.webhooks.adelete(endpoint_id)


@served(webhooks.enable)
async def enable(call: ApiCall, endpoint_id: str) -> EndpointShown:
    await call.client.webhooks.aenable(endpoint_id)
    return await _shown(call, endpoint_id)


@served(webhooks.disable)
async def disable(call: ApiCall, endpoint_id: str, body: DisableBody) -> EndpointShown:
    await call.client.webhooks.adisable(endpoint_id, body.reason)
    return await _shown(call, endpoint_id)


@served(webhooks.rotate)
async def rotate(call: ApiCall, endpoint_id: str, body: RotateBody) -> Response:
    async def make() -> MadeOnce:
        made = await call.client.webhooks.arotate(endpoint_id, secret=body.secret, overlap=body.overlap)
        return await _shown_once(call, made)

    return await answer_secret(call, make, 200)


@served(webhooks.test)
async def test(call: ApiCall, endpoint_id: str) -> Delivery:
    return await call.client.webhooks.atest(endpoint_id)


@served(webhooks.replay)
async def replay(call: ApiCall, endpoint_id: str, body: ReplayBody) -> Items[Delivery]:
    found = await call.client.webhooks.areplay(endpoint_id, event=body.event, since=body.since)
    return Items(items=[*found])


@served(webhooks.deliveries)
async def deliveries(call: ApiCall, endpoint_id: str, query: DeliveriesQuery) -> ListPage[Delivery]:
    client = call.client
    source = PageSource(
        lambda cursor, number: client.webhooks.deliveries(
            endpoint_id, status=query.status, before=cursor, limit=number
        ),
        by_id,
    )
    page = await client.runtime.hop(read_page, source, query.before, query.limit)
    return page.answer(by_id)


@served(webhooks.attempts)
async def attempts(call: ApiCall, delivery_id: str, query: AttemptsQuery) -> ListPage[AttemptShown]:
    if not is_delivery(await call.client.aget(delivery_id)):
        raise RunNotFound(f"run {delivery_id} is no delivery of a webhook.")
    tries = call.client.webhooks.attempts
    return await attempts_page(call, query, lambda after, number: tries(delivery_id, after=after or 0, limit=number))

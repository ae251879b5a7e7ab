"""Routes of webhooks: endpoints, their secrets and deliveries. Secrets are never shown again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import Body, Query
from starlette.requests import Request
from starlette.responses import Response

from workbell.errors import RunNotFound
from workbell.http.answers import JsonResponse, nothing
from workbell.http.bounded_pages import PageSource, by_id, read_page
from workbell.http.call import ApiCall, call_of
from workbell.http.idempotency import MadeOnce, answer_secret
from workbell.http.routes.runs import attempt_shown
from workbell.http.routing import IDEMPOTENCY_KEY, Routes
from workbell.http.schemas.base import Limit, ListPage
from workbell.http.schemas.runs import Attempts
from workbell.http.schemas.webhooks import (
    Deliveries,
    DeliveryShown,
    DisableBody,
    EndpointBody,
    EndpointChange,
    Endpoints,
    EndpointShown,
    MadeEndpoint,
    ReplayBody,
    RotateBody,
)
from workbell.model.access import Scope
from workbell.model.delivery import Delivery
from workbell.model.run import Status
from workbell.webhooks.describe import is_delivery
from workbell.webhooks.verbs import BY_HAND

routes = Routes("webhooks")

NEVER_NULL = ("url", "patterns", "description", "secret")


def _settings(asked: EndpointChange) -> dict[str, Any]:
    """Options of `bell.webhooks` from a request body; null counts as left out where a setting cannot be none."""
    given = {
        word: value
        for word, value in asked.model_dump(exclude_unset=True).items()
        if value is not None or word not in NEVER_NULL
    }
    if "retry_config" in given:
        given["retry"] = given.pop("retry_config")
    return given


async def _shown(call: ApiCall, endpoint_id: str) -> dict[str, Any]:
    return _fit_for(call, await call.client.webhooks.adescribe(endpoint_id))


def _fit_for(call: ApiCall, endpoint: dict[str, Any]) -> dict[str, Any]:
    """The endpoint; without the scope `operate` the query of its URL is masked."""
    return endpoint if call.access.may(Scope.OPERATE) else _masked(endpoint)


def _masked(endpoint: dict[str, Any]) -> dict[str, Any]:
    """Without the query of its URL, in which there may be a token."""
    address, mark, _ = endpoint["url"].partition("?")
    return endpoint | {"url": f"{address}?…"} if mark else endpoint


def _shown_once(endpoint: dict[str, Any], secret: str) -> MadeOnce:
    """The endpoint with its secret; the answer stored for an idempotency key has neither secret nor URL query."""
    return MadeOnce(_masked(endpoint), {"secret": secret, "url": endpoint["url"]})


@routes.add("POST", "/webhooks", needs=Scope.OPERATE, answers=MadeEndpoint, status=201, parameters=[IDEMPOTENCY_KEY])
async def add(request: Request, asked: EndpointBody) -> Response:
    """Add an endpoint: send events to a URL. The secret, which signs every delivery, is shown this once."""
    call = call_of(request)

    async def make() -> MadeOnce:
        endpoint, secret = await call.client.webhooks.aadd(**_settings(asked))
        call.subject = endpoint.id
        return _shown_once(await _shown(call, endpoint.id), secret)

    return await answer_secret(call, make)


@routes.add("GET", "/webhooks", needs=Scope.READ, answers=Endpoints)
async def list(request: Request) -> Response:  # noqa: A001
    """List all endpoints, oldest first."""
    call = call_of(request)
    return JsonResponse(
        {"items": [_fit_for(call, endpoint) for endpoint in await call.client.webhooks.adescribe_all()]}
    )


@routes.add("GET", "/webhooks/{endpoint_id}", needs=Scope.READ, answers=EndpointShown)
async def get(request: Request, endpoint_id: str) -> Response:
    """Show an endpoint, and how deliveries to it go."""
    return JsonResponse(await _shown(call_of(request), endpoint_id))


@routes.add("PATCH", "/webhooks/{endpoint_id}", needs=Scope.OPERATE, answers=EndpointShown)
async def change(request: Request, endpoint_id: str, asked: EndpointChange) -> Response:
    """Change what is named, and leave the rest."""
    call = call_of(request)
    await call.client.webhooks.aupdate(endpoint_id, **_settings(asked))
    return JsonResponse(await _shown(call, endpoint_id))


@routes.add("DELETE", "/webhooks/{endpoint_id}", needs=Scope.OPERATE, status=204)
async def delete(request: Request, endpoint_id: str) -> Response:
    """Remove an endpoint; deliveries that are not sent yet are canceled."""
    await call_of(request).client.webhooks.adelete(endpoint_id)
    return nothing()


@routes.add("POST", "/webhooks/{endpoint_id}/enable", needs=Scope.OPERATE, answers=EndpointShown)
async def enable(request: Request, endpoint_id: str) -> Response:
    """Enable an endpoint: events are sent again, from now on."""
    call = call_of(request)
    await call.client.webhooks.aenable(endpoint_id)
    return JsonResponse(await _shown(call, endpoint_id))


@routes.add("POST", "/webhooks/{endpoint_id}/disable", needs=Scope.OPERATE, answers=EndpointShown)
async def disable(request: Request, endpoint_id: str, asked: Annotated[DisableBody | None, Body()] = None) -> Response:
    """Disable an endpoint: nothing more is sent; matching events are recorded, and can be replayed."""
    call = call_of(request)
    await call.client.webhooks.adisable(endpoint_id, BY_HAND if asked is None else asked.reason)
    return JsonResponse(await _shown(call, endpoint_id))


@routes.add(
    "POST",
    "/webhooks/{endpoint_id}/rotate",
    needs=Scope.OPERATE,
    answers=MadeEndpoint,
    parameters=[IDEMPOTENCY_KEY],
)
async def rotate(request: Request, endpoint_id: str, asked: Annotated[RotateBody | None, Body()] = None) -> Response:
    """Give an endpoint another secret, which is shown this once; for a day, or `overlap`, the old one signs as well."""
    call = call_of(request)
    given = {} if asked is None else asked.model_dump(exclude_unset=True)

    async def make() -> MadeOnce:
        endpoint, secret = await call.client.webhooks.arotate(endpoint_id, **given)
        return _shown_once(await _shown(call, endpoint.id), secret)

    return await answer_secret(call, make, 200)


@routes.add(
    "POST", "/webhooks/{endpoint_id}/test", needs=Scope.OPERATE, answers=DeliveryShown, status=202, creates=True
)
async def test(request: Request, endpoint_id: str) -> Response:
    """Send a `webhook.ping` to this endpoint alone; the answer is the delivery, to be read later."""
    return JsonResponse((await call_of(request).client.webhooks.atest(endpoint_id)).as_dict(), 202)


@routes.add("POST", "/webhooks/{endpoint_id}/replay", needs=Scope.OPERATE, answers=Deliveries, status=202, creates=True)
async def replay(request: Request, endpoint_id: str, asked: ReplayBody) -> Response:
    """Send again: one event, or all since a time that were not delivered."""
    found = await call_of(request).client.webhooks.areplay(endpoint_id, event=asked.event, since=asked.since)
    return JsonResponse({"items": _as_dicts(found)}, 202)


@routes.add("GET", "/webhooks/{endpoint_id}/deliveries", needs=Scope.READ, answers=ListPage[DeliveryShown])
async def deliveries(
    request: Request,
    endpoint_id: str,
    status: Annotated[Status | None, Query()] = None,
    before: Annotated[str | None, Query(description="The cursor: `next` of the page before.", max_length=100)] = None,
    limit: Limit = 100,
) -> Response:
    """List what was and will be sent to an endpoint, newest first."""
    client = call_of(request).client
    source = PageSource(
        lambda cursor, number: client.webhooks.deliveries(endpoint_id, status=status, before=cursor, limit=number),
        by_id,
        Delivery.as_dict,
    )
    page = await client.runtime.hop(read_page, source, before, limit)
    return JsonResponse(page.answer(by_id))


def _as_dicts(found: Sequence[Delivery]) -> Sequence[dict[str, Any]]:
    return [one.as_dict() for one in found]


@routes.add("GET", "/webhooks/deliveries/{delivery_id}/attempts", needs=Scope.READ, answers=Attempts)
async def attempts(request: Request, delivery_id: str) -> Response:
    """List every try of a delivery; the `result` of each has `status_code`, `duration_ms` and `answer`."""
    call = call_of(request)
    if not is_delivery(await call.client.aget(delivery_id)):
        raise RunNotFound(f"run {delivery_id} is no delivery of a webhook.")
    found = await call.client.webhooks.aattempts(delivery_id)
    return JsonResponse({"items": [attempt_shown(call, one) for one in found]})

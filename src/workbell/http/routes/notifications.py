"""Routes of notifications: read one's own, and send some."""

from __future__ import annotations

from typing import Annotated

from fastapi import Body, Query
from starlette.requests import Request
from starlette.responses import Response

from workbell.errors import Forbidden, InvalidOption
from workbell.http.answers import JsonResponse
from workbell.http.bounded_pages import PageSource, by_id, read_page
from workbell.http.call import ApiCall, call_of
from workbell.http.routing import Routes
from workbell.http.schemas.base import Limit, ListPage
from workbell.http.schemas.notifications import NewNotification, NotificationShown, ReadAnswer, ReadBody
from workbell.model.access import Scope
from workbell.model.notification import Notification
from workbell.model.users import UserId

routes = Routes("notifications")


@routes.add("GET", "/notifications", needs=None, answers=ListPage[NotificationShown])
async def list(  # noqa: A001
    request: Request,
    unread: Annotated[bool, Query(description="Only those that were not read yet.")] = False,
    before: Annotated[str | None, Query(description="The cursor: `next` of the page before.", max_length=100)] = None,
    limit: Limit = 100,
) -> Response:
    """List your notifications, newest first: those of the token's user."""
    call = call_of(request)
    person, notifications = _person(call), call.client.notifications
    source = PageSource(
        lambda cursor, number: notifications.list(person, unread=unread, before=cursor, limit=number),
        by_id,
        Notification.as_dict,
    )
    page = await call.client.runtime.hop(read_page, source, before, limit)
    return JsonResponse(page.answer(by_id))


@routes.add("POST", "/notifications/read", needs=None, answers=ReadAnswer)
async def mark_read(request: Request, asked: Annotated[ReadBody, Body()]) -> Response:
    """Mark notifications as read: some by their ids, or all."""
    call = call_of(request)
    if (asked.ids is None) is not asked.all:
        raise InvalidOption("ids: give the ids of those that were read, or `all`: true; not both.")
    return JsonResponse({"read": await call.client.notifications.amark_read(_person(call), asked.ids)})


@routes.add("POST", "/notifications", needs=Scope.OPERATE, answers=NotificationShown, status=201, creates=True)
async def tell(request: Request, asked: Annotated[NewNotification, Body()]) -> Response:
    """Send a notification to one person, or to everybody of the tenant."""
    call = call_of(request)
    if asked.user_id is not None and asked.everybody:
        raise InvalidOption("user_id: one person, or `everybody`; not both.")
    if asked.user_id is not None:
        notification = await call.client.anotify(asked.user_id, asked.data)
    elif asked.everybody:
        notification = await call.client.abroadcast(asked.data)
    else:
        raise InvalidOption("user_id: say whom; for all of the tenant, `everybody`: true.")
    call.subject = notification.id
    return JsonResponse(notification.as_dict(), 201)


def _person(call: ApiCall) -> UserId:
    if call.access.user_id is None:
        raise Forbidden("The token belongs to no person, and has no notifications; make one with a user_id.")
    return call.access.user_id

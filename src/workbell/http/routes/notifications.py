"""Handlers of notifications: read one's own, and send some."""

from __future__ import annotations

from workbell.errors import Forbidden, InvalidOption
from workbell.http.framework.bounded_pages import PageSource, by_id, read_page
from workbell.http.framework.call import ApiCall
from workbell.http.framework.operations import Served
from workbell.model.users import UserId
from workbell.wire import notifications
from workbell.wire.notifications import NewNotification, NotificationShown, NotificationsQuery, ReadAnswer, ReadBody
from workbell.wire.operation import ListPage

served = Served()


@served(notifications.list_)
async def list_(call: ApiCall, query: NotificationsQuery) -> ListPage[NotificationShown]:
    person, verbs = _person(call), call.client.notifications
    source = PageSource(
        lambda cursor, number: verbs.list(person, unread=query.unread, before=cursor, limit=number),
        by_id,
        NotificationShown.of,
    )
    page = await call.client.runtime.hop(read_page, source, query.before, query.limit)
    return page.answer(by_id)


@served(notifications.mark_read)
async def mark_read(call: ApiCall, body: ReadBody) -> ReadAnswer:
    if (body.ids is None) is not body.all:
        raise InvalidOption("ids: give the ids of those that were read, or `all`: true; not both.")
    return ReadAnswer(read=await call.client.notifications.amark_read(_person(call), body.ids))


@served(notifications.tell)
async def tell(call: ApiCall, body: NewNotification) -> NotificationShown:
    if body.user_id is not None and body.everybody:
        raise InvalidOption("user_id: one person, or `everybody`; not both.")
    if body.user_id is not None:
        notification = await call.client.anotify(body.user_id, body.data)
    elif body.everybody:
        notification = await call.client.abroadcast(body.data)
    else:
        raise InvalidOption("user_id: say whom; for all of the tenant, `everybody`: true.")
    call.subject = notification.id
    return NotificationShown.of(notification)


def _person(call: ApiCall) -> UserId:
    if call.access.user_id is None:
        raise Forbidden("The token belongs to no person, and has no notifications; make one with a user_id.")
    return call.access.user_id

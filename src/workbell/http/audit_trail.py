"""Audit entries of requests: written after the action and before its answer.

The action is done by then, so its answer stays what it is. An entry that cannot be written is tried again, and then
logged whole as an error: it is never lost in silence.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

import msgspec
from starlette.requests import HTTPConnection

from workbell.access.audit import new_entry
from workbell.client.local import LocalClient
from workbell.errors import StoreError
from workbell.http.call import ApiCall, address_of
from workbell.model.access import Token, access_of
from workbell.model.audit import Actor, AuditEntry

if TYPE_CHECKING:
    from workbell.http.service import Service

PAUSES = (0.2, 1.0)  # seconds before the second and the third try

log = logging.getLogger("workbell.audit")


async def note_call(call: ApiCall, action: str) -> None:
    """Note an operator's action."""
    subject = call.subject or "/".join(str(part) for part in call.request.path_params.values())
    await note(call.client, call.request, call.access.who, action, subject, tenant=call.tenant)


async def note_session(service: Service, connection: HTTPConnection, session: Token, action: str) -> None:
    """Note that the session of a browser began or ended."""
    access = access_of(session)
    await note(service.client, connection, access.who, action, session.id, tenant=service.home_of(access))


async def note(
    client: LocalClient, connection: HTTPConnection, actor: Actor, action: str, subject: str, *, tenant: str
) -> None:
    """Note an action of this connection."""
    entry = new_entry(
        tenant,
        client.store.clock.now(),
        action,
        subject,
        actor=actor,
        detail={"method": connection.scope["method"], "path": connection.url.path},
        address=address_of(connection),
    )
    try:
        await _write(client, entry)
    except BaseException as error:
        shown = msgspec.json.encode(entry).decode()
        log.error("an audit entry could not be written: %s: %s; it was %s", type(error).__name__, error, shown)
        if not isinstance(error, StoreError):
            raise


async def _write(client: LocalClient, entry: AuditEntry) -> None:
    """The entry has its id before the first try: one that was written after all is not written twice."""
    for pause in PAUSES:
        try:
            await client.runtime.hop(client.store.audit.add, [entry])
        except StoreError:
            await asyncio.sleep(pause)
        else:
            return
    await client.runtime.hop(client.store.audit.add, [entry])

"""Audit entries of requests: each is written with its action, in one transaction.

The entry is pending while a request is worked on; the store takes it into the first batch of the action that it writes
(`stores/pending_entry.py`). An action that writes no batch, such as one on files or one that found nothing to change,
has its entry written after it and before its answer: tried again, and then logged whole as an error, so that it is
never lost in silence.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import Any

import msgspec
from starlette.requests import HTTPConnection
from starlette.responses import Response

from workbell.access.audit import new_entry
from workbell.client.local import LocalClient
from workbell.errors import StoreError
from workbell.http.framework.call import ApiCall, caller_address
from workbell.http.policies.idempotency import REPLAYED
from workbell.model.audit import Actor, AuditEntry
from workbell.stores.pending_entry import PendingEntry, pending_entry

PAUSES = (0.2, 1.0)  # seconds before the second and the third try

log = logging.getLogger("workbell.audit")


async def audited(call: ApiCall, action: str, answer: Awaitable[Response]) -> Response:
    """Answer a request that is an operator's action, with its audit entry; none, if nothing was done."""

    def entry(made: str) -> AuditEntry:
        named = "/".join(str(part) for part in call.request.path_params.values())
        who, subject = call.access.who, named or made or call.subject
        return _entry(call.client, call.request, who, action, subject, tenant=call.tenant, detail=call.detail)

    with pending_entry(entry) as pending:
        response = await answer
    if response.status_code < 400 and REPLAYED not in response.headers:
        await _write_late(call.client, pending)
    return response


@asynccontextmanager
async def audited_as(
    client: LocalClient,
    connection: HTTPConnection,
    action: str,
    actor: Callable[[str], Actor],
    *,
    tenant: str,
    subject: str = "",
) -> AsyncIterator[PendingEntry]:
    """Audit an action that is done in here. `actor` is given the id of what it makes, which is its subject, too, where
    none is named."""

    def entry(made: str) -> AuditEntry:
        return _entry(client, connection, actor(made), action, subject or made, tenant=tenant)

    with pending_entry(entry) as pending:
        yield pending
    await _write_late(client, pending)


def _entry(
    client: LocalClient,
    connection: HTTPConnection,
    actor: Actor,
    action: str,
    subject: str,
    *,
    tenant: str,
    detail: Mapping[str, Any] = MappingProxyType({}),
) -> AuditEntry:
    return new_entry(
        tenant,
        client.store.clock.now(),
        action,
        subject,
        actor=actor,
        detail={"method": connection.scope["method"], "path": connection.url.path, **detail},
        address=caller_address(connection),
    )


async def _write_late(client: LocalClient, pending: PendingEntry) -> None:
    """Write an entry that no batch of its action took along."""
    if pending.is_over:
        return
    pending.is_over = True
    entry = pending.entry()
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

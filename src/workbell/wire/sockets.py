"""Tickets for the WebSocket `/ws`."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from workbell.model.clock import Instant
from workbell.model.schema_examples import AT
from workbell.wire.operation import Operations, Shown


class TicketShown(Shown, frozen=True, kw_only=True):
    """A ticket, good for one connection."""

    ticket: Annotated[str, Meta(examples=["wb_…"])]
    expires_at: Annotated[Instant, Meta(examples=[AT])]


operations = Operations("sockets")

make = operations.add(
    "make",
    "POST",
    "/sockets/tickets",
    None,
    TicketShown,
    """Make a ticket for the WebSocket: open `/ws?ticket=…` with it, once, within half a minute.

For code in a browser that has a token alone: with a session or a header, `/ws` needs no ticket. The connection may
do what your token may, and ends when that is revoked.""",
    status=201,
)

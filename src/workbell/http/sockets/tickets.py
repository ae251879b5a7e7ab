"""Tickets for opening a WebSocket, for code in a browser that has a token and no session: it cannot send a header with
a WebSocket, and a token in a URL is logged.

A ticket is good for half a minute and once, carries what its maker may do, and remembers the token behind it: should
that be revoked, the connection ends.
"""

from __future__ import annotations

from math import ceil

import msgspec

from workbell.access.secret_text import NewToken
from workbell.client.local import LocalClient
from workbell.errors import TooMany
from workbell.http.policies.open_limits import HeldBy
from workbell.http.policies.rate_limits import Allowance, CallerRates
from workbell.model.access import Access, TokenKind, access_of

GOOD_FOR = 30.0  # seconds
OF_CALLER = Allowance(5, 50)  # tickets: each is a row of the store for a minute or two
OF_TENANT = Allowance(50, 500)


class TicketRates:
    """Rate limits of tickets, by caller and by tenant."""

    def __init__(self) -> None:
        self._rates = CallerRates(OF_CALLER, OF_TENANT)

    def check(self, tenant: str, access: Access, now: float) -> None:
        """Count a ticket, or raise that there were too many."""
        wait = self._rates.take(HeldBy.caller(tenant, access), now)
        if wait:
            error = TooMany(
                f"{access.actor} asks for tickets faster than {OF_CALLER.a_second:g} a second, or tenant {tenant} "
                f"faster than {OF_TENANT.a_second:g}. Ask again in {wait:.1f} s, and keep the sockets that are open."
            )
            error.retry_after = max(1, ceil(wait))
            raise error


async def make_ticket(client: LocalClient, access: Access) -> NewToken:
    """Make a ticket with the caller's access, for the tenant of these verbs."""
    return await client.tokens.acreate(
        access.actor,
        scopes=access.scopes,
        user_id=access.user_id,
        expires=GOOD_FOR,
        kind=TokenKind.TICKET,
        created_by=access.token or "",
    )


async def use_ticket(client: LocalClient, text: str) -> Access | None:
    """Use a ticket up: the access of its maker; none, if it was used, has expired, or never existed."""
    found = await client.tokens.aredeem(text, TokenKind.TICKET)
    if found is None:
        return None
    return msgspec.structs.replace(access_of(found), token=found.created_by or None)

"""From a name to addresses, once: what is checked here is what is connected to, whatever the name says later."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable

from workbell.errors import SendFailed
from workbell.outgoing.address import NOT_AN_ADDRESS, why_not_public
from workbell.outgoing.allow import AllowList
from workbell.outgoing.permit import check_addresses
from workbell.outgoing.target import Target

Resolver = Callable[[str, int], Awaitable[list[str]]]

DEADLINE = 5.0


async def ask_system(host: str, port: int) -> list[str]:
    """The addresses that this machine's resolver knows, in the order in which they should be tried."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


async def resolve(target: Target, allow: AllowList, ask: Resolver = ask_system, timeout: float = DEADLINE) -> list[str]:
    """The addresses of a target, every one of them checked. An address in the URL is asked of nobody."""
    if target.is_address:
        addresses = [target.host]
    else:
        try:
            async with asyncio.timeout(timeout):
                addresses = await ask(target.host, target.port)
        except TimeoutError:
            raise SendFailed(f"{target.shown}: the name {target.host} was not resolved within {timeout:g} s.") from None
        except (OSError, UnicodeError):
            raise SendFailed(f"{target.shown}: the name {target.host} is not known; is it spelt right?") from None
        if not addresses:
            raise SendFailed(f"{target.shown}: the name {target.host} has no address.")
        if any(why_not_public(address) == NOT_AN_ADDRESS for address in addresses):
            raise SendFailed(f"{target.shown}: the name {target.host} leads to something that is no address.")
    check_addresses(target, addresses, allow)
    return addresses

"""Name resolution, once for each request: the checked addresses are the ones connected to, whatever DNS says later."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from workbell.errors import SendFailed
from workbell.outgoing.address import NOT_AN_ADDRESS, why_not_public
from workbell.outgoing.allow import AllowList
from workbell.outgoing.permit import check_addresses
from workbell.outgoing.target import Target

Resolver = Callable[[str, int], Awaitable[list[str]]]

DEADLINE = 5.0
MOST_QUESTIONS = 256  # lookups under way at once, also those whose caller has left

_questions = threading.BoundedSemaphore(MOST_QUESTIONS)


async def ask_system(host: str, port: int) -> list[str]:
    """The addresses that this machine's resolver knows, in the order in which they should be tried.

    Each lookup has a thread of its own. A name server that never answers blocks it for as long as the system's timeout;
    on the loop's own few threads, other work and the end of the loop would wait behind it.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[list[Any]] = loop.create_future()

    def deliver(found: list[Any] | Exception) -> None:
        if answer.done():  # too late
            return
        if isinstance(found, Exception):
            answer.set_exception(found)
        else:
            answer.set_result(found)

    def ask() -> None:
        found: list[Any] | Exception
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
        except (OSError, UnicodeError) as error:
            found = error
        finally:
            _questions.release()
        with suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(deliver, found)

    if not _questions.acquire(blocking=False):
        raise SendFailed(f"{host}: too many names wait for their address; name servers do not answer.")
    try:
        threading.Thread(target=ask, name="workbell-resolve", daemon=True).start()
    except BaseException:
        _questions.release()
        raise
    return list(dict.fromkeys(str(entry[4][0]) for entry in await answer))


async def resolve(target: Target, allow: AllowList, ask: Resolver = ask_system, timeout: float = DEADLINE) -> list[str]:
    """The addresses of a target, every one of them checked. An address in the URL needs no lookup."""
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

"""Host and Origin checks of requests. Pure.

A page of another site can have the browser send requests here (cross-site), and a name that is made to point to
127.0.0.1 can make such a page seem local (DNS rebinding). A program sends no Origin and is known by its token.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from workbell.model.loopback import is_loopback
from workbell.model.public_url import PublicUrl

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


def is_of_this_machine(public: PublicUrl) -> bool:
    """Whether a public URL leads nowhere but to the machine of whoever opens it."""
    return is_loopback(host_name(public.netloc))


def host_name(host: str) -> str:
    """The name of a Host header, without its port."""
    if host.startswith("["):
        return host.partition("]")[0].lower() + "]"
    return host.partition(":")[0].lower()


def host_is_allowed(host: str | None, allowed: Sequence[str]) -> bool:
    """Whether a Host header may be answered; no list: any."""
    if not allowed:
        return True
    return host is not None and host_name(host) in {name.lower() for name in allowed}


def origin_is_allowed(
    origin: str | None, host: str | None, allowed: Sequence[str], public: PublicUrl | None = None
) -> bool:
    """Whether a page may send this: it has no Origin, is one of our own, or is on the list by name.

    Our own pages are those of the public URL, with its scheme and port; without one, those of the host and port that
    the request asks for.
    """
    if origin is None:
        return True
    parts = urlsplit(origin)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        return False
    name = host_name(parts.netloc)
    if public is not None and name == host_name(public.netloc):
        return origin.lower() == public.origin
    if public is None and host is not None and parts.netloc.lower() == host.lower():
        return True
    return name in {one.lower() for one in allowed if one not in LOOPBACK}


def allowed_hosts(listen: str | None, named: Sequence[str], public: PublicUrl | None = None) -> tuple[str, ...]:
    """The names to answer to: those of the settings, and this machine's where nothing else can reach us."""
    listed = (*named, *([] if public is None else [host_name(public.netloc)]))
    if listen is not None and is_loopback(listen):
        return (*LOOPBACK, *([] if listen in LOOPBACK or ":" in listen else [listen]), *listed)
    return listed if named else ()

"""Host and Origin checks of requests. Pure.

A page of another site can have the browser send requests here (cross-site), and a name that is made to point to
127.0.0.1 can make such a page seem local (DNS rebinding). A program sends no Origin and is known by its token.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import ip_address
from urllib.parse import urlsplit

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


def is_loopback(host: str) -> bool:
    """Whether an address to listen on is reached from this machine alone."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


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


def origin_is_allowed(origin: str | None, host: str | None, allowed: Sequence[str]) -> bool:
    """Whether a page may send this: it has no Origin, is of the same host and port, or is on the list by name."""
    if origin is None:
        return True
    parts = urlsplit(origin)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        return False
    if host is not None and parts.netloc.lower() == host.lower():
        return True
    return host_name(parts.netloc) in {name.lower() for name in allowed if name not in LOOPBACK}


def allowed_hosts(listen: str | None, named: Sequence[str]) -> tuple[str, ...]:
    """The names to answer to: those of the setting, and this machine's where nothing else can reach us."""
    if listen is not None and is_loopback(listen):
        return (*LOOPBACK, *([] if listen in LOOPBACK or ":" in listen else [listen]), *named)
    return tuple(named)

"""Host and Origin checks of requests. Pure.

A page of another site can have the browser send requests here (cross-site), and a name that is made to point to
127.0.0.1 can make such a page seem local (DNS rebinding). A program sends no Origin and is known by its token.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import urlsplit

from workbell.errors import SettingsError
from workbell.model.loopback import is_loopback
from workbell.model.public_url import PORTS, PublicUrl

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
HOW = "write it as jobs.example, jobs.example:8443 or https://jobs.example"


class Site(NamedTuple):
    """An entry of `http_hosts`, or the page that an `Origin` names. Of an entry, scheme and port may be left open."""

    scheme: str | None
    name: str  # in lower case
    port: int | None


def is_of_this_machine(public: PublicUrl) -> bool:
    """Whether a public URL leads nowhere but to the machine of whoever opens it."""
    return is_loopback(host_name(public.netloc))


def host_name(host: str) -> str:
    """The name of a Host header, without its port."""
    if host.startswith("["):
        return host.partition("]")[0].lower() + "]"
    return host.partition(":")[0].lower()


def host_is_allowed(host: str | None, allowed: Sequence[Site]) -> bool:
    """Whether a Host header may be answered, by its name alone; no list: any."""
    if not allowed:
        return True
    return host is not None and host_name(host) in {site.name for site in allowed}


def origin_is_allowed(
    origin: str | None, host: str | None, allowed: Sequence[Site], public: PublicUrl | None = None
) -> bool:
    """Whether a page may send this: it has no Origin, is one of our own, or is on the list.

    Our own pages are those of the public URL, with its scheme and port; without one, those of the host and port that
    the request asks for, unless the list has that host with its scheme alone.
    """
    if origin is None:
        return True
    own = [f"{scheme}://{host.lower()}" for scheme in PORTS] if host and not _is_exact(host, allowed) else []
    if origin.lower() in (own if public is None else [public.origin]):
        return True
    page = _read(origin)
    if page is None or page.scheme is None:
        return False
    port = None if host is None else _port_of(host)
    return any(_is_of(page, site, port, public) for site in allowed)


def _is_exact(host: str, allowed: Sequence[Site]) -> bool:
    """Whether the list has this host with a scheme, and nowhere without. Not asked of this machine's own names."""
    found = [site for site in allowed if site.name == host_name(host) and site.name not in LOOPBACK]
    return bool(found) and all(site.scheme is not None for site in found)


def _is_of(page: Site, site: Site, asked_port: int | None, public: PublicUrl | None) -> bool:
    """Whether a page is of a listed site. A name alone stands for the ports of the schemes, and for the port that the
    request asks for; beside a public URL with https, for https."""
    assert page.scheme is not None
    if page.name != site.name:
        return False
    port = page.port or PORTS[page.scheme]
    if site.scheme is not None:
        return (page.scheme, port) == (site.scheme, site.port or PORTS[site.scheme])
    if public is not None and public.is_secure and page.scheme != "https":
        return False
    if site.port is not None:
        return port == site.port
    if site.name in LOOPBACK or (public is not None and site.name == host_name(public.netloc)):
        return False  # every program of this machine has these names; and the public URL says its own port
    return port in (PORTS[page.scheme], asked_port)


def allowed_hosts(listen: str | None, named: Sequence[str], public: PublicUrl | None = None) -> tuple[Site, ...]:
    """The sites to answer to: those of the settings, and this machine's names where nothing else can reach us."""
    ours = [] if public is None else [host_name(public.netloc)]
    listed = [_read_entry(text) for text in named]
    if listen is not None and is_loopback(listen):
        ours += [*LOOPBACK, *([] if listen in LOOPBACK or ":" in listen else [listen])]
    elif not named:
        return ()
    return (*listed, *(Site(None, name, None) for name in ours))


def _read_entry(text: str) -> Site:
    site = _read(text)
    if site is None:
        raise SettingsError(f"Settings: http_hosts: {text!r} is no host and no address of a website; {HOW}.")
    return site


def _read(text: str) -> Site | None:
    """A site as it is written: a name, perhaps with a scheme before it and a port behind it."""
    scheme, mark, rest = text.rpartition("://")
    try:
        parts = urlsplit(f"//{rest.removesuffix('/') if mark else rest}")
        port = parts.port
    except ValueError:
        return None
    if not text.isascii() or not text.isprintable() or set(rest) & set(" \"'<>\\*@,?#"):
        return None
    if not parts.hostname or parts.path or (mark and scheme not in PORTS):
        return None
    return Site(scheme or None, host_name(parts.netloc), port)


def _port_of(host: str) -> int | None:
    found = _read(host)
    return None if found is None else found.port

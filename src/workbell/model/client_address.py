"""Address of an HTTP client, read from `X-Forwarded-For` where a trusted proxy wrote it. Pure.

Each proxy appends the address that it was called from. So the header is read from its end: what trusted proxies wrote
is true, and the first address that is not one of theirs is the client. What stands before it the client may have
invented.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import NamedTuple

from workbell.errors import SettingsError

_WITH_PORT = re.compile(r"\[([^\]]*)\](?::\d+)?|([0-9.]+):\d+", re.ASCII)


class TrustedProxies(NamedTuple):
    """Networks whose `X-Forwarded-For` and `X-Forwarded-Proto` are believed: the setting `http_trusted_proxies`."""

    networks: tuple[IPv4Network | IPv6Network, ...] = ()

    @classmethod
    def parse(cls, entries: Iterable[str]) -> TrustedProxies:
        """The networks that the setting lists; raises SettingsError for the first entry that cannot be used."""
        return cls(tuple(_network(entry) for entry in entries))

    def trusts(self, address: str | None) -> bool:
        """Whether an address is that of a trusted proxy."""
        found = _read(address) if self.networks and address is not None else None
        return found is not None and any(found in network for network in self.networks)


def _network(entry: str) -> IPv4Network | IPv6Network:
    try:
        found = ip_network(entry.strip())
    except ValueError as error:
        raise SettingsError(
            f"Settings: http_trusted_proxies: {entry!r} is neither an address nor a network ({error}); "
            "write 127.0.0.1, ::1 or 10.0.0.0/8."
        ) from None
    if found.prefixlen == 0:
        raise SettingsError(
            f"Settings: http_trusted_proxies: {entry!r} is every address, so anybody could forge theirs; "
            "write the address of the proxy, or its network."
        )
    return found


def client_address(peer: str | None, forwarded: str, proxies: TrustedProxies) -> str | None:
    """The address of the client behind a peer: the last one in `X-Forwarded-For` that is not a trusted proxy's.

    The header of a peer that is not trusted says nothing. Where a trusted proxy wrote something that is no address, the
    client is not known, and that proxy stands for it.
    """
    if not proxies.trusts(peer):
        return peer
    known = peer
    for entry in reversed(forwarded.split(",")):
        found = _read(entry.strip())
        if found is None:
            return known
        known = str(found)
        if not proxies.trusts(known):
            return known
    return known


def network_of(address: str | None) -> str:
    """The network that stands for one client: of IPv6 the /64, which is what one customer gets."""
    if address is None:
        return "local"
    found = _read(address)
    return found.packed[:8].hex() if isinstance(found, IPv6Address) else str(found or address)


def _read(text: str) -> IPv4Address | IPv6Address | None:
    """An address, also with a port behind it; IPv4 that is written as IPv6 is IPv4."""
    with_port = _WITH_PORT.fullmatch(text)
    try:
        found = ip_address((with_port[1] or with_port[2] if with_port else text).partition("%")[0])
    except ValueError:
        return None
    return (found.ipv4_mapped or found) if isinstance(found, IPv6Address) else found

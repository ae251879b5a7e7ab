"""Loopback hosts: whether a host leads to this machine alone. Pure: no name is looked up.

It decides whether a token may go over plain HTTP, whether a proxy is asked, and whether a server may let everybody in.
"""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address


def is_loopback(host: str) -> bool:
    """Whether a host, as in a URL or in a setting, is `localhost` or a loopback address; with or without brackets.

    `app.localhost` is not one. RFC 6761 reserves such names for this machine, but many resolvers ask the network for
    them all the same, and whoever answers there would get the token. `localhost` itself is in the hosts file.
    """
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    if host.lower() == "localhost":
        return True
    try:
        address = ip_address(host)
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (mapped or address).is_loopback

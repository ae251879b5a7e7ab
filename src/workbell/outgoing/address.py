"""Public IP addresses: which belong to the internet, and in one word why another does not.

`ipaddress.is_global` is not enough: it accepts addresses that only wrap another one (NAT64, 6to4) and multicast.
So the networks are named here. Of IPv6 only what is handed out for the internet (2000::/3) can be public at all.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

_NOT_PUBLIC_4 = {
    IPv4Network(network): reason
    for network, reason in {
        "0.0.0.0/8": "this network",
        "10.0.0.0/8": "private",
        "100.64.0.0/10": "shared by carriers",
        "127.0.0.0/8": "loopback",
        "169.254.0.0/16": "link-local",
        "172.16.0.0/12": "private",
        "168.63.129.16/32": "a cloud's own service",
        "192.0.0.0/24": "reserved for protocols",
        "192.0.2.0/24": "documentation",
        "192.88.99.0/24": "6to4 relay",
        "192.168.0.0/16": "private",
        "198.18.0.0/15": "benchmarking",
        "198.51.100.0/24": "documentation",
        "203.0.113.0/24": "documentation",
        "224.0.0.0/4": "multicast",
        "255.255.255.255/32": "broadcast",
        "240.0.0.0/4": "reserved",
    }.items()
}

# In the order in which they are tried: the narrow ones before those that contain them.
_NOT_PUBLIC_6 = {
    IPv6Network(network): reason
    for network, reason in {
        "::/128": "unspecified",
        "::1/128": "loopback",
        "::ffff:0:0/96": "IPv4-mapped",
        "::ffff:0:0:0/96": "IPv4-translated",
        "::/96": "IPv4-compatible",
        "64:ff9b::/96": "NAT64",
        "64:ff9b:1::/48": "NAT64",
        "100::/64": "discard-only",
        "fc00::/7": "unique-local",
        "fe80::/10": "link-local",
        "fec0::/10": "site-local",
        "ff00::/8": "multicast",
        "2001::/32": "Teredo",
        "2001::/23": "reserved for protocols",
        "2001:db8::/32": "documentation",
        "2002::/16": "6to4",
        "3fff::/20": "documentation",
    }.items()
}
NOT_AN_ADDRESS = "not an address"

_INTERNET_6 = IPv6Network("2000::/3")
_ISATAP = 0x00005EFE  # in front of the last 32 bits, which are an IPv4 address


def why_not_public(address: str) -> str | None:
    """Why nothing may be sent to the address, in a word or two; None if it is public."""
    try:
        found = ip_address(address)
    except ValueError:
        return NOT_AN_ADDRESS
    return _why_not_4(found) if isinstance(found, IPv4Address) else _why_not_6(found)


def is_public(address: str) -> bool:
    """Whether the address is public, and not part of an inner network."""
    return why_not_public(address) is None


def _why_not_4(address: IPv4Address) -> str | None:
    return next((reason for network, reason in _NOT_PUBLIC_4.items() if address in network), None)


def _why_not_6(address: IPv6Address) -> str | None:
    if address.scope_id is not None:
        return "bound to one interface"
    for network, reason in _NOT_PUBLIC_6.items():
        if address in network:
            return reason
    if address not in _INTERNET_6:
        return "reserved"
    if (int(address) >> 32) & 0xFDFFFFFF == _ISATAP:
        return "ISATAP"
    return None

"""Target of a URL: read strictly into its parts, once, so that what was checked is exactly what is connected to.

Nothing here resolves a name. Forms that two programs could read differently are refused: user-info,
backslashes, white space, addresses in octal, hexadecimal or short forms, percent signs in the host.
"""

from __future__ import annotations

import re
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import NamedTuple
from urllib.parse import quote

from workbell.errors import EndpointRefused

LONGEST_URL = 2048
LONGEST_HOST = 253
PORTS = {"https": 443, "http": 80}

_PARTS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)([^?#]*)(\?[^#]*)?(#.*)?", re.DOTALL)
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_PORT = re.compile(r"[0-9]{1,5}")
# The two standards of international names disagree about these: one maps them to other letters, or to none.
_DISPUTED = frozenset("ßς\u200c\u200d")
_SHOWN = 200


class Target(NamedTuple):
    """A URL that was read: the host in ASCII and lower case, `path` with the query as it is sent."""

    scheme: str
    host: str
    port: int
    path: str
    is_address: bool

    def __repr__(self) -> str:
        return f"<Target {self.shown}>"

    @property
    def authority(self) -> str:
        """Host and port as the Host header names them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.authority}{self.path}"

    @property
    def shown(self) -> str:
        """The URL for messages: without the query, which often holds keys."""
        return _short(f"{self.scheme}://{self.authority}{self.path.partition('?')[0]}")


def read_target(url: str) -> Target:
    """The parts of a URL, or EndpointRefused. What may be sent to is decided later, by its addresses."""
    if not isinstance(url, str):
        raise EndpointRefused(f"The URL must be a text, got {type(url).__name__}.")
    if len(url) > LONGEST_URL:
        raise EndpointRefused(_say(url, f"it is {len(url):,} characters long and the limit is {LONGEST_URL:,}"))
    if re.search(r"[\x00-\x20\x7f-\xa0\\]|\s", url) or not url.isprintable():
        raise EndpointRefused(_say(url, "white space, backslashes and control characters are not allowed in a URL"))
    parts = _PARTS.fullmatch(url)
    if parts is None:
        raise EndpointRefused(_say(url, "it is not a whole URL; write https://host/path"))
    scheme, authority, path, query, fragment = parts.groups()
    scheme = scheme.lower()
    if scheme not in PORTS:
        raise EndpointRefused(_say(url, f"its scheme is {scheme}; use https"))
    if "@" in authority:
        raise EndpointRefused(_say(url, "it contains a user name or password; use a header instead"))
    if fragment is not None:
        raise EndpointRefused(_say(url, "the part after # is never sent; leave it out"))
    host, port = _split(url, authority, PORTS[scheme])
    is_address = ":" in host or _NUMBER.fullmatch(host.rpartition(".")[2]) is not None
    sent = quote((path or "/") + (query or ""), safe="!\"#$%&'()*+,-./:;<=>?@[]^_`{|}~")
    if len(sent) > 3 * LONGEST_URL:
        raise EndpointRefused(_say(url, "its path is too long; use plain letters"))
    return Target(scheme, host, port, sent, is_address)


def shown(url: str) -> str:
    """A URL for messages, also one that cannot be read: without user-info and query, printable and not too long."""
    text = re.split(r"[?#]", url, maxsplit=1)[0]
    scheme, separator, _ = text.partition("://")
    start = scheme + separator if separator else ""
    if "@" in url[len(text) :]:
        text = f"{start}…"  # a password may have a question mark in it
    elif "@" in text:
        text = f"{start}…@{text.rpartition('@')[2]}"
    return _short("".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text))


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _split(url: str, authority: str, default_port: int) -> tuple[str, int]:
    """Host and port of an authority without user-info."""
    if authority.startswith("["):
        inside, closing, rest = authority[1:].partition("]")
        if not closing or (rest and not rest.startswith(":")):
            raise EndpointRefused(_say(url, "the IPv6 address is not written as [address] or [address]:port"))
        return _ipv6(url, inside), _port(url, rest[1:] if rest else None, default_port)
    host, colon, port = authority.partition(":")
    return _host(url, host), _port(url, port if colon else None, default_port)


def _port(url: str, text: str | None, default: int) -> int:
    if text is None:
        return default
    if not _PORT.fullmatch(text) or not 0 < int(text) < 65536:
        raise EndpointRefused(_say(url, "its port is not a number from 1 to 65535"))
    return int(text)


def _ipv6(url: str, text: str) -> str:
    if "%" in text:
        raise EndpointRefused(_say(url, "its address is bound to one interface of this machine"))
    try:
        return str(IPv6Address(text))
    except AddressValueError:
        raise EndpointRefused(_say(url, "what stands in brackets is not an IPv6 address")) from None


def _host(url: str, text: str) -> str:
    """A name or an IPv4 address, in ASCII and lower case."""
    if not text:
        raise EndpointRefused(_say(url, "it has no host; write https://host/path"))
    if text.endswith("."):
        raise EndpointRefused(_say(url, "its host ends with a dot; leave the dot out"))
    labels = [_label(url, label) for label in text.split(".")]
    host = ".".join(labels)
    if len(host) > LONGEST_HOST:
        raise EndpointRefused(_say(url, f"its host is longer than {LONGEST_HOST} characters"))
    if not _NUMBER.fullmatch(labels[-1]):
        return host
    try:
        return str(IPv4Address(host))
    except AddressValueError:
        raise EndpointRefused(_say(url, "its host is a number but no plain IPv4 address such as 192.0.2.1")) from None


def _label(url: str, text: str) -> str:
    """One part of a name. An international one must become `xn--…`: similar letters would be a disguise."""
    label = text.lower()
    if not text.isascii():
        try:
            label = "" if _DISPUTED & set(text) else text.encode("idna").decode("ascii").lower()
        except UnicodeError:
            label = ""
        if not label.startswith("xn--") or "." in label:
            raise EndpointRefused(_say(url, "its host has letters that no name is written with; write it as xn--…"))
    if not _LABEL.fullmatch(label):
        raise EndpointRefused(_say(url, "its host is not a name: letters, digits and hyphens between single dots"))
    return label


def _say(url: str, reason: str) -> str:
    return f"{shown(url)}: {reason}."

"""URL of a service, checked before a token is ever sent there."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import urlsplit

from workbell.errors import InvalidUrl
from workbell.model.loopback import is_loopback
from workbell.wire.operation import PREFIX


class Address(NamedTuple):
    """`base` is what paths are put behind; `shown` is the same for people. There is no secret in either."""

    base: str
    shown: str
    loopback: bool


class UrlWords(NamedTuple):
    """Words for errors about a URL: what is there, and how its caller gives the token and allows plain HTTP."""

    there: str
    sign_in: str
    allow_plain: str | None  # none: it cannot be allowed


OF_CLIENT = UrlWords("service", "give token=", "insecure=True")


def address_of(url: object, *, insecure: bool = False, words: UrlWords = OF_CLIENT) -> Address:
    """The address that a URL names; raises InvalidUrl if nothing may be sent there."""
    if not isinstance(url, str):
        raise InvalidUrl(f"The {words.there}'s URL must be a text, got {type(url).__name__}.")
    text = url.strip()
    if not text.isprintable() or " " in text:
        raise InvalidUrl(
            f"{_shown(text)!r}: there is a blank or a character that cannot be printed in the {words.there}'s URL; "
            "leave it out."
        )
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise InvalidUrl(f"The {words.there}'s URL cannot be read; write it as https://workbell.example.com.") from None
    if parts.scheme not in ("http", "https") or not host:
        raise InvalidUrl(f"{_shown(url)!r} names no {words.there}; write it as https://workbell.example.com.")
    if "@" in parts.netloc:
        raise InvalidUrl(f"{host}: there is a name or a password in the URL; leave it out, and {words.sign_in}.")
    if parts.query or parts.fragment:
        raise InvalidUrl(f"{host}: there is a query or a fragment in the URL; give only where the {words.there} is.")
    loopback = is_loopback(host)
    if parts.scheme == "http" and not loopback and not insecure:
        allow = "" if words.allow_plain is None else f", or {words.allow_plain} if the network is your own"
        raise InvalidUrl(f"{host}: over http:// everybody on the way could read the token; use https://{allow}.")
    path = parts.path.rstrip("/").removesuffix(PREFIX)
    name = f"[{host}]" if ":" in host else host
    shown = f"{parts.scheme}://{name}" + ("" if port is None else f":{port}") + path
    return Address(shown + PREFIX, shown, loopback)


def check_token(token: object) -> str | None:
    """A token that can be put into a header. An error about it does not show it."""
    if token is None:
        return None
    if not isinstance(token, str):
        raise InvalidUrl(f"The token must be a text, got {type(token).__name__}.")
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise InvalidUrl("The token cannot be used: it is empty, or has blanks or strange characters in it.")
    return token


def _shown(url: str) -> str:
    """As much of a URL as can be shown: what stands before an @ may be a password, and behind a ? a token."""
    return url.rpartition("@")[2].partition("?")[0][:60]

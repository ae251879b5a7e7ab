"""Public URL of the service, as browsers reach it through a proxy: the setting `http_public_url`."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import urlsplit

from workbell.errors import SettingsError

PORTS = {"http": 80, "https": 443}
EXAMPLE = "write it as https://jobs.example.com"


class PublicUrl(NamedTuple):
    """A URL without user, query and fragment, in the form in which browsers write an `Origin`."""

    scheme: str  # http or https
    netloc: str  # host and port, in lower case; without the port where it is the scheme's own
    path: str  # where the application is mounted, without a slash at its end

    @property
    def is_secure(self) -> bool:
        return self.scheme == "https"

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self.netloc}"

    @property
    def address(self) -> str:
        return self.origin + self.path


def read_public_url(text: str) -> PublicUrl:
    """The URL that the setting names; raises SettingsError if it is none."""

    def refused(why: str) -> SettingsError:
        return SettingsError(f"Settings: http_public_url: {why}; {EXAMPLE}.")

    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise refused("it cannot be read as a URL") from None
    if "@" in parts.netloc:
        raise refused("there is a name or a password in it, which every page would show")
    if parts.scheme not in PORTS or not host:
        raise refused(f"{text!r} is no URL of a website")
    if parts.query or parts.fragment:
        raise refused(f"{text!r} has a query or a fragment")
    if not text.isascii() or not text.isprintable() or set(text) & set(" \"'<>\\"):
        raise refused(f"{text!r} has characters that no browser sends; international names begin with xn--")
    name = f"[{host}]" if ":" in host else host
    own = port is None or port == PORTS[parts.scheme]
    return PublicUrl(parts.scheme, name if own else f"{name}:{port}", parts.path.rstrip("/"))

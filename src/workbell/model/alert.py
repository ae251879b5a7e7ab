"""Alerts and pings: the URLs that are called when runs end. They are secrets, and never shown in full."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec

URLS = ("alert_url", "ping_url")
SEALED = "sealed:"  # prefix of a URL that is stored sealed; followed by the part that may be shown


class AlertKind(StrEnum):
    ALERT = "alert"  # a webhook, of a run that failed for good
    PING = "ping"  # a sign of life, of a run that succeeded or failed for good


class Watched(NamedTuple):
    """The two kinds of URL: alert and ping."""

    alerts: bool = False
    pings: bool = False


UNWATCHED = Watched()


def shown_url(url: str | None) -> str | None:
    """Scheme and host alone: the rest of such a URL is a password."""
    if url is None:
        return None
    if url.startswith(SEALED):
        return url.removeprefix(SEALED).partition(" ")[0]
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return "…"
    return f"{parts.scheme}://{host}{'' if port is None else f':{port}'}/…" if host else "…"


def without_urls(struct: msgspec.Struct) -> list[tuple[str, Any]]:
    """The fields of a struct that has such URLs, as they may be shown."""
    fields = [(name, getattr(struct, name)) for name in struct.__struct_fields__]
    return [(name, shown_url(value) if name in URLS else value) for name, value in fields]


def repr_without_urls(struct: msgspec.Struct) -> str:
    return f"{type(struct).__name__}({', '.join(f'{name}={value!r}' for name, value in without_urls(struct))})"

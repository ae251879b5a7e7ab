"""Alerts and pings: the URLs at which the ends of runs are told. They are secrets, and never shown in full."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec

URLS = ("alert_url", "ping_url")
SEALED = "sealed:"  # how a URL begins that is stored sealed; what may be shown of it follows


class AlertKind(StrEnum):
    ALERT = "alert"  # a webhook, of a run that failed for good
    PING = "ping"  # a sign of life, of a run that succeeded or failed for good


class Watched(NamedTuple):
    """Which of the two somebody wants."""

    alerts: bool = False
    pings: bool = False


UNWATCHED = Watched()


def shown_url(url: str | None) -> str | None:
    """Scheme and host alone: whoever knows the rest of such a URL can write to it."""
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

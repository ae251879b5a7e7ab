"""Webhook endpoint: its URL, the events that are sent there, and the health of its deliveries."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from workbell.model.alert import SEALED, shown_url
from workbell.model.job import TENANT
from workbell.model.retry import Retry
from workbell.model.unreadable import UnreadableColumns

BY_HAND = "disabled by hand"  # the reason, where none is given
# 5 s, 30 s, 3 min, 18 min, 1.8 h, 10.8 h, then a day each: ten attempts over three and a half days.
DELIVERY_RETRY = Retry(attempts=10, delay=5, factor=6, cap=86400, jitter=0.1)


class SealedSecret(msgspec.Struct, frozen=True, omit_defaults=True):
    """A signing secret as it is stored; the last one of an endpoint is the newest."""

    text: str
    created_at: datetime
    until: datetime | None = None  # end of its use, once a newer one has replaced it

    def __repr__(self) -> str:
        """Without the text, which is the secret itself where no key is configured."""
        return f"SealedSecret(created_at={self.created_at!r}, until={self.until!r})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return [("created_at", self.created_at), ("until", self.until)]


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """One receiver. Its URL, `headers_text` and the secrets are stored sealed where a key is configured."""

    id: str
    url: str
    patterns: tuple[str, ...]
    created_at: datetime
    updated_at: datetime
    tenant: str = TENANT
    description: str = ""
    headers_text: str | None = None
    secrets: tuple[SealedSecret, ...] = ()
    enabled: bool = True
    reason: str | None = None  # why it is disabled
    disabled_at: datetime | None = None
    retry: Retry | None = None
    rate: str | None = None
    concurrency: int | None = None
    timeout: float | None = None
    version: int = 0
    unreadable: UnreadableColumns | None = None

    @property
    def shown_url(self) -> str:
        """The URL without its query, in which there may be a token; of one that is sealed, its host."""
        if self.url.startswith(SEALED):
            return shown_url(self.url) or "…"
        address, mark, _ = self.url.partition("?")
        return address + ("?…" if mark else "")

    def __repr__(self) -> str:
        """Without headers and secrets: what is shown by accident must not give them away."""
        return f"Endpoint({', '.join(f'{name}={value!r}' for name, value in self.__rich_repr__())})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        """Else rich, and tracebacks that it draws, would show every field."""
        return [
            ("id", self.id),
            ("url", self.shown_url),
            ("patterns", self.patterns),
            ("enabled", self.enabled),
        ]


class Health(msgspec.Struct, frozen=True):
    """Health of an endpoint: its failures in a row, if its last delivery failed."""

    endpoint: str
    failures: int = 0  # in a row
    failing_since: datetime | None = None
    last_success_at: datetime | None = None
    last_failure_at: datetime | None = None

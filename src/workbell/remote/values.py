"""Values that only the HTTP client returns."""

from __future__ import annotations

from typing import NamedTuple

from workbell.model.access import Token
from workbell.wire.runs import FoundRun
from workbell.wire.webhooks import EndpointShown


class RemoteNewToken(NamedTuple):
    """A token, and its text: this once, and never again."""

    token: Token
    text: str

    def __repr__(self) -> str:
        return f"NewToken({self.token.id!r}, text=…)"


class RemoteNewEndpoint(NamedTuple):
    """An endpoint, and its secret: this once, and never again."""

    endpoint: EndpointShown
    secret: str

    def __repr__(self) -> str:
        return f"NewEndpoint({self.endpoint.id!r}, secret=…)"


class FoundRunPage(NamedTuple):
    """Runs, newest first, and the id to continue `before`; None: there are no more."""

    runs: list[FoundRun]
    next: str | None

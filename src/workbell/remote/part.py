"""Base of the parts of a client: each holds the transport."""

from __future__ import annotations

from workbell.remote.transport import ServiceTransport


class RemotePart:
    """Verbs about one kind of thing, over HTTP."""

    def __init__(self, transport: ServiceTransport) -> None:
        self._transport = transport

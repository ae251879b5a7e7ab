"""Client address and scheme of a request that a trusted proxy passed on, written into its ASGI scope.

All that follows reads `scope["client"]` and `scope["scheme"]`: rate limits, audit log, cookies, hooks of applications.
"""

from __future__ import annotations

from starlette.types import Scope

from workbell.model.client_address import TrustedProxies, client_address


def apply_forwarded(scope: Scope, proxies: TrustedProxies) -> None:
    """Replace client and scheme by those of `X-Forwarded-For` and `X-Forwarded-Proto`, if the peer is trusted."""
    peer = scope.get("client")
    if peer is None or not proxies.trusts(peer[0]):
        return
    addresses, proto = [], ""
    for name, value in scope["headers"]:
        if name == b"x-forwarded-for":
            addresses.append(value.decode("latin-1"))
        elif name == b"x-forwarded-proto":
            proto = value.decode("latin-1").rpartition(",")[2].strip().lower()
    client = client_address(peer[0], ",".join(addresses), proxies)
    if client != peer[0]:
        scope["client"] = (client, 0)  # the port is not told
    if proto in ("http", "https"):
        scope["scheme"] = proto.replace("http", "ws") if scope["type"] == "websocket" else proto

"""Client and scheme of a request, from the headers of a trusted proxy."""

from __future__ import annotations

from typing import Any

import pytest

from workbell.http.framework.middleware import apply_forwarded
from workbell.model.client_address import TrustedProxies

PROXIES = TrustedProxies.parse(["10.0.0.0/8"])


@pytest.mark.parametrize(
    ("kind", "said", "scheme"),
    [
        ("http", b"https", "https"),
        ("http", b"http, HTTPS", "https"),  # of several, that of the nearest proxy
        ("http", b"https, http", "http"),
        ("http", b"gopher", "http"),
        ("websocket", b"https", "wss"),
        ("websocket", b"http", "ws"),
    ],
)
def test_the_scheme(kind: str, said: bytes, scheme: str) -> None:
    scope: dict[str, Any] = {"type": kind, "scheme": "ws" if kind == "websocket" else "http"}
    scope |= {"client": ("10.0.0.1", 7), "headers": [(b"x-forwarded-proto", said)]}
    apply_forwarded(scope, PROXIES)
    assert (scope["scheme"], scope["client"]) == (scheme, ("10.0.0.1", 7))


def test_several_headers_are_one() -> None:
    said = [(b"x-forwarded-for", b"192.0.2.66"), (b"x-forwarded-for", b"192.0.2.1, 10.0.0.2")]
    scope: dict[str, Any] = {"type": "http", "scheme": "http", "client": ("10.0.0.1", 7), "headers": said}
    apply_forwarded(scope, PROXIES)
    assert scope["client"] == ("192.0.2.1", 0)


@pytest.mark.parametrize("client", [None, ("192.0.2.9", 7)])
def test_nobody_else_is_believed(client: tuple[str, int] | None) -> None:
    said = [(b"x-forwarded-for", b"192.0.2.1"), (b"x-forwarded-proto", b"https")]
    scope: dict[str, Any] = {"type": "http", "scheme": "http", "client": client, "headers": said}
    before = dict(scope)
    apply_forwarded(scope, PROXIES)
    assert scope == before

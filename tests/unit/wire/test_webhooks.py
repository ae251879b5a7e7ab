"""Webhooks on the wire: the options of verbs from bodies, and endpoints without anything secret."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.makers import ID, NOW
from workbell.model.endpoint import Endpoint, Health, SealedSecret
from workbell.wire.webhooks import EndpointBody, EndpointChange, EndpointShown, MadeEndpoint

ENDPOINT = Endpoint(
    id=ID,
    url="sealed",
    patterns=("posts.*",),
    created_at=NOW,
    updated_at=NOW,
    headers_text="private-headers",
    secrets=(SealedSecret("private-secret", NOW, NOW + timedelta(days=1)),),
)
HEALTH = Health(ID, 3, NOW, NOW - timedelta(days=1), NOW + timedelta(hours=1))


def shown(url: str) -> EndpointShown:
    return EndpointShown.of(ENDPOINT, HEALTH, url=url, header_names=["x-token"], sealed=True, slowed=None)


def test_an_endpoint_has_nothing_secret() -> None:
    sent = msgspec.json.encode(shown("https://example.com/"))
    assert b"private" not in sent
    received = msgspec.json.decode(sent, type=EndpointShown)
    assert received.secrets[0].valid_until == NOW + timedelta(days=1)
    assert received.health() == HEALTH


@given(st.text("ab/.", max_size=5), st.none() | st.text("ab?=&", max_size=5))
def test_a_masked_url_has_no_query(address: str, query: str | None) -> None:
    url = address if query is None else f"{address}?{query}"
    masked = shown(url).masked()
    assert masked.url == (address if query is None else f"{address}?…")
    assert MadeEndpoint.without_secret(shown(url)).url == masked.url


@pytest.mark.parametrize("kind", [EndpointBody, EndpointChange])
def test_null_removes_what_can_be_none(kind: type[EndpointBody | EndpointChange]) -> None:
    sent = {"url": "u", "patterns": ["p"]} | dict.fromkeys(("description", "headers", "rate", "retry_config"))
    assert msgspec.convert(sent, kind).options() == {
        "url": "u",
        "patterns": ["p"],
        "headers": None,
        "rate": None,
        "retry": None,
    }


def test_what_cannot_be_none_counts_as_left_out() -> None:
    assert msgspec.convert({"url": None, "patterns": None, "description": None}, EndpointChange).options() == {}
    sent = {"retry_config": {"max_attempts": 2}, "timeout": 3}
    found = msgspec.convert(sent, EndpointChange).options()
    assert (found["retry"]["max_attempts"], found["timeout"], set(found)) == (2, 3, {"retry", "timeout"})

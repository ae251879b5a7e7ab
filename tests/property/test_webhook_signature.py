"""Our signatures and those of the `standardwebhooks` library, each verified by the other."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks import Webhook
from standardwebhooks.webhooks import WebhookVerificationError

from workbell.errors import InvalidSignature
from workbell.webhooks.signature import SIGNATURE, TIMESTAMP, headers, sign, verify

secrets = st.binary(min_size=24, max_size=64).map(lambda key: "whsec_" + base64.b64encode(key).decode())
ids = st.text(alphabet=[chr(code) for code in range(33, 127) if chr(code) != "."], min_size=1, max_size=256)
bodies = st.one_of(st.text().map(lambda text: text.encode("utf-8", "replace")), st.just(b"1.2.3"))
offsets = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
ages = st.floats(-290, 290).map(lambda seconds: timedelta(seconds=seconds))


@given(ids, bodies, st.lists(secrets, min_size=1, max_size=3), offsets, ages)
def test_the_library_verifies_ours(message: str, body: bytes, keys: list[str], zone: timezone, age: timedelta) -> None:
    sent = headers(message, (datetime.now(UTC) - age).astimezone(zone), body, keys)
    for key in keys:
        Webhook(key).verify(body, sent, json_parse=False)
        assert verify(body, sent, key) == message


@given(ids, bodies, secrets, ages)
def test_we_verify_the_library_s(message: str, body: bytes, key: str, age: timedelta) -> None:
    at = datetime.now(UTC) - age
    theirs = Webhook(key).sign(message, at, body.decode())
    assert sign(message, at, body, [key]) == theirs
    assert verify(body, headers(message, at, body, [key]) | {SIGNATURE: theirs}, key) == message


@given(ids, bodies, secrets, st.integers(301, 10**6))
def test_both_refuse_what_is_old(message: str, body: bytes, key: str, age: int) -> None:
    sent = headers(message, datetime.now(UTC) - timedelta(seconds=age), body, [key])
    with pytest.raises(InvalidSignature, match="too old"):
        verify(body, sent, key)
    with pytest.raises(WebhookVerificationError):
        Webhook(key).verify(body, sent, json_parse=False)


@given(
    st.binary(max_size=50), st.dictionaries(st.text(max_size=8), st.text(max_size=40)), secrets, st.text(), st.text()
)
def test_whatever_arrives_is_refused_in_one_way(
    body: bytes, others: dict[str, str], key: str, stamp: str, signature: str
) -> None:
    for sent in (
        others,
        headers("msg", datetime.now(UTC), b"x", [key]) | others | {SIGNATURE: signature},
        headers("msg", datetime.now(UTC), b"x", [key]) | others | {TIMESTAMP: stamp},
        headers("msg", datetime.now(UTC), b"x" + body, [key]) | others,
    ):
        with pytest.raises(InvalidSignature):
            verify(body, sent, key)


@given(ids, bodies, secrets, st.integers(0, 10**6), st.integers(1, 255))
def test_one_changed_byte_is_seen(message: str, body: bytes, key: str, place: int, flip: int) -> None:
    now = datetime.now(UTC)
    sent = headers(message, now, body, [key])
    changed = bytearray(body or b"x")
    changed[place % len(changed)] ^= flip
    with pytest.raises(InvalidSignature, match="No signature fits"):
        verify(bytes(changed), sent, key, now=now)

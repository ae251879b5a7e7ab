"""Signatures of webhooks, exactly as Standard Webhooks describes them: made for what we send, checked for what arrives.

Signed is `id.timestamp.body`, the body as the bytes that travel; so neither id nor timestamp may contain a full stop.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import math
import re
import secrets as randomness
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from workbell.errors import InvalidOption, InvalidSignature

PREFIX = "whsec_"
SHORTEST, LONGEST = 24, 64  # bytes of a secret
TOLERANCE = timedelta(minutes=5)

ID, TIMESTAMP, SIGNATURE = "webhook-id", "webhook-timestamp", "webhook-signature"

_MESSAGE_ID = re.compile(r"[!-\-/-~]{1,256}")  # visible ASCII without the full stop
_SECONDS = re.compile(r"[0-9]{1,12}")


def new_secret() -> str:
    """A secret for one endpoint: 32 random bytes."""
    return PREFIX + base64.b64encode(randomness.token_bytes(32)).decode()


def check_secret(text: str) -> str:
    """The secret itself, if it can be used. It is never part of a message."""
    _key(text)
    return text


def sign(message_id: str, timestamp: datetime, body: bytes, secrets: Sequence[str]) -> str:
    """The value of `webhook-signature`: one for each secret, so that one can replace another without a gap."""
    if not isinstance(message_id, str) or not _MESSAGE_ID.fullmatch(message_id):
        raise InvalidOption(f"webhook-id: {str(message_id)[:80]!r} is not visible ASCII without full stops.")
    if isinstance(secrets, str) or not secrets:
        raise InvalidOption("secrets: give a list with at least one secret.")
    seconds = str(_seconds(timestamp))
    return " ".join(f"v1,{_signature(_key(secret), message_id, seconds, body)}" for secret in secrets)


def headers(message_id: str, timestamp: datetime, body: bytes, secrets: Sequence[str]) -> dict[str, str]:
    """The three headers that go with a message."""
    signature = sign(message_id, timestamp, body, secrets)
    return {ID: message_id, TIMESTAMP: str(_seconds(timestamp)), SIGNATURE: signature}


def verify(
    body: bytes,
    headers: Mapping[str, str],
    secrets: str | Sequence[str],
    *,
    now: datetime | None = None,
    tolerance: timedelta = TOLERANCE,
) -> str:
    """The id of a message whose signature is right; the same id twice is the same message. Else InvalidSignature.

    Give the body as it arrived, before it is read as JSON. Any of the secrets may have signed it, and any of the
    message's signatures may fit.
    """
    keys = [_key(secret) for secret in ([secrets] if isinstance(secrets, str) else secrets)]
    found = {name.lower(): value for name, value in headers.items() if isinstance(name, str) and isinstance(value, str)}
    missing = [name for name in (ID, TIMESTAMP, SIGNATURE) if not found.get(name)]
    if missing:
        raise InvalidSignature(f"The header {missing[0]} is missing; was this sent as a Standard Webhook?")
    message_id, seconds = found[ID], found[TIMESTAMP]
    if not _MESSAGE_ID.fullmatch(message_id):
        raise InvalidSignature("The header webhook-id has characters that no id has.")
    if not _SECONDS.fullmatch(seconds):
        raise InvalidSignature("The header webhook-timestamp is not a number of seconds since 1970.")
    age = (now or datetime.now(UTC)).timestamp() - int(seconds)
    if abs(age) > tolerance.total_seconds():
        when = "too old" if age > 0 else "from the future"
        raise InvalidSignature(f"The message is {when} by its webhook-timestamp; are both clocks right?")
    given = [text[3:].encode("utf-8", "replace") for text in found[SIGNATURE].split(" ") if text.startswith("v1,")]
    if not _any_fits(given, [_signature(key, message_id, seconds, body).encode() for key in keys]):
        raise InvalidSignature("No signature fits: another secret was used, or the body was changed on its way.")
    return message_id


def _any_fits(given: list[bytes], expected: list[bytes]) -> bool:
    """Every pair is compared in constant time, also after one has fitted."""
    return sum(hmac.compare_digest(one, other) for one in given for other in expected) > 0


def _signature(key: bytes, message_id: str, seconds: str, body: bytes) -> str:
    signed = f"{message_id}.{seconds}.".encode() + body
    return base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


def _seconds(timestamp: datetime) -> int:
    if timestamp.tzinfo is None:
        raise InvalidOption("timestamp: a time without a time zone is ambiguous; use datetime.now(UTC).")
    return math.floor(timestamp.timestamp())


def _key(secret: str) -> bytes:
    wrong = InvalidOption(
        f"secret: write {PREFIX} and the base64 of {SHORTEST} to {LONGEST} random bytes, or leave it out for a new one."
    )
    if not isinstance(secret, str) or not secret.startswith(PREFIX):
        raise wrong
    text = secret.removeprefix(PREFIX)
    try:
        key = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise wrong from None
    if not SHORTEST <= len(key) <= LONGEST:
        raise wrong
    return key

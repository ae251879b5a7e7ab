"""Settings of an endpoint: checks them, and makes an endpoint or a change of one. Nothing is stored here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, TypedDict

import msgspec

from workbell.errors import InvalidOption, SecretSealed
from workbell.model.alert import SEALED
from workbell.model.clock import seconds
from workbell.model.endpoint import DELIVERY_RETRY, Endpoint, SealedSecret
from workbell.model.json_text import clean_text
from workbell.model.limit import Limits
from workbell.model.patterns import check_pattern
from workbell.model.retry import Retry
from workbell.model.suggestions import list_options
from workbell.model.trigger import RetryConfig, retry_from
from workbell.outgoing.allow import AllowList
from workbell.outgoing.headers import check_headers
from workbell.outgoing.permit import check_url
from workbell.trust.sealing import Sealer
from workbell.webhooks.signature import check_secret, new_secret

MOST_PATTERNS = 100
MOST_OLD_SECRETS = 4  # that sign beside the newest, each with a signature of its own
TIMEOUT, LONGEST_TIMEOUT = 15.0, 30.0
OVERLAP = timedelta(days=1)  # how long an old secret stays valid beside the new one
RESERVED = ("webhook-", "content-type", "user-agent")


class EndpointSettings(TypedDict, total=False):
    """Options of an endpoint besides its URL."""

    patterns: Sequence[str] | str
    """Check its event patterns."""
    headers: Mapping[str, str] | None
    """Sent with every delivery; their values are never shown again."""
    description: str
    retry: Retry | RetryConfig | None
    """When a delivery is tried again; without it, ten times over three and a half days."""
    rate: str | None
    """No more deliveries than that: `10/s`."""
    concurrency: int | None
    """No more deliveries at once; without it, 5."""
    timeout: float | None
    """Seconds for one attempt, up to 30; without it, 15."""


NAMES = frozenset(EndpointSettings.__annotations__)


def settled(settings: EndpointSettings, sealer: Sealer, retry: Retry | None = None) -> dict[str, Any]:
    """Settings as the fields of an endpoint; raises for the first that cannot be used. `retry` is what it has."""
    unknown = sorted(set(settings) - NAMES)
    if unknown:
        there = list_options(unknown[0], NAMES, called="settings")
        raise InvalidOption(f"Unknown setting {unknown[0]!r} of an endpoint; {there}")
    fields: dict[str, Any] = {}
    if "patterns" in settings:
        fields["patterns"] = _patterns(settings["patterns"])
    if "headers" in settings:
        headers = check_headers(_mapping(settings["headers"]), RESERVED)
        fields["headers_text"] = sealer.seal(msgspec.json.encode(headers).decode()) if headers else None
    if "description" in settings:
        fields["description"] = clean_text(_text("description", settings["description"]), 1000)
    if "retry" in settings:
        fields["retry"] = retry_from(settings["retry"], DELIVERY_RETRY, retry)
    if "timeout" in settings:
        fields["timeout"] = _timeout(settings["timeout"])
    limits = Limits(settings.get("concurrency"), None, settings.get("rate")).checked()
    fields |= {name: getattr(limits, name) for name in ("rate", "concurrency") if name in settings}
    return fields


def checked_url(url: object, allow: AllowList) -> str:
    """A URL that may be sent to, checked without resolving its name."""
    text = _text("url", url)
    if text.endswith("?…"):
        raise InvalidOption(f"url: {text:.80} is how a URL is shown, and not the whole of it; give it in full.")
    check_url(text, allow)
    return text


def first_secret(secret: str | None, now: datetime, sealer: Sealer) -> tuple[str, tuple[SealedSecret, ...]]:
    """The secret of a new endpoint, in clear to show once, and sealed to store."""
    text = new_secret() if secret is None else check_secret(secret)
    return text, (SealedSecret(sealer.seal(text), now),)


def rotated(endpoint: Endpoint, sealed: str, now: datetime, overlap: timedelta) -> Endpoint:
    """With another secret. Those before it stay valid as long as was said, the last one for the overlap; with no
    overlap, none does."""
    *earlier, last = endpoint.secrets or (None,)
    still_valid: list[SealedSecret] = []
    if overlap > timedelta(0) and last is not None:
        still_valid = [one for one in earlier if one.until is not None and one.until > now]
        still_valid.append(SealedSecret(last.text, last.created_at, now + overlap))
    secrets = (*still_valid[-MOST_OLD_SECRETS:], SealedSecret(sealed, now))
    unreadable = endpoint.unreadable and endpoint.unreadable.left(["secrets"])
    return msgspec.structs.replace(endpoint, secrets=secrets, updated_at=now, unreadable=unreadable)


def resealed(endpoint: Endpoint, sealer: Sealer) -> Endpoint:
    """The endpoint with all its secrets sealed with the newest key."""
    secrets = tuple(msgspec.structs.replace(one, text=sealer.seal(sealer.open(one.text))) for one in endpoint.secrets)
    headers = endpoint.headers_text
    headers = None if headers is None else sealer.seal(sealer.open(headers))
    url = sealer.seal_url(sealer.open_url(endpoint.url))
    return msgspec.structs.replace(endpoint, url=url, secrets=secrets, headers_text=headers)


def with_sealed_url(endpoint: Endpoint, sealer: Sealer) -> Endpoint:
    """One that was stored before there was a key, as it is written now."""
    if not sealer.seals or endpoint.url.startswith(SEALED):
        return endpoint
    return msgspec.structs.replace(endpoint, url=sealer.seal_url(endpoint.url))


def opened(endpoint: Endpoint, sealer: Sealer) -> Endpoint:
    """With its URL as it was given; as it is stored, where the key for it is not known here."""
    try:
        return msgspec.structs.replace(endpoint, url=sealer.open_url(endpoint.url))
    except SecretSealed:
        return endpoint


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidOption(f"{name}: expected a text, got {type(value).__name__}.")
    return value


def _mapping(headers: Mapping[str, str] | None) -> Mapping[str, str]:
    if headers is not None and not isinstance(headers, Mapping):
        raise InvalidOption(f'headers: expected a dict such as {{"x-token": "…"}}, got {type(headers).__name__}.')
    return headers or {}


def _patterns(given: Sequence[str] | str) -> tuple[str, ...]:
    if not isinstance(given, Iterable):
        raise InvalidOption(f"patterns: expected a text or a list of them, got {type(given).__name__}.")
    listed = (given,) if isinstance(given, str) else tuple(given)
    if not listed:
        raise InvalidOption('patterns: an endpoint needs a pattern of events; give one such as "posts.*".')
    if len(listed) > MOST_PATTERNS:
        raise InvalidOption(f"patterns: {len(listed)} are more than {MOST_PATTERNS}; use * or **.")
    return tuple(dict.fromkeys(check_pattern(pattern) for pattern in listed))


def _timeout(value: float | None) -> float | None:
    if value is None:
        return None
    found = seconds("timeout", value)
    if not 0.1 <= found <= LONGEST_TIMEOUT:
        raise InvalidOption(f"timeout: {found:g} is not from 0.1 to {LONGEST_TIMEOUT:g} seconds.")
    return found

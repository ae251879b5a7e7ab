"""Rows of triggers, endpoints and their health: which column is which field, in both directions."""

from __future__ import annotations

from typing import Any

import msgspec

from workbell.model.endpoint import Endpoint, Health, SealedSecret
from workbell.model.retry import Retry
from workbell.model.run_defaults import NO_DEFAULTS, from_text, to_text
from workbell.model.trigger import Trigger
from workbell.stores.database import Row
from workbell.stores.reading import Column, RowReader, optional, rate_text, written_back
from workbell.stores.times import fields_in_utc

TRIGGER = (
    "id tenant name description pattern job retry options source declared_at enabled version created_at updated_at"
).split()
ENDPOINT = (
    "id tenant url description patterns headers secrets enabled reason disabled_at retry rate concurrency timeout "
    "version created_at updated_at"
).split()
HEALTH = Health.__struct_fields__

_retry = msgspec.json.Decoder(Retry)
_secrets = msgspec.json.Decoder(tuple[SealedSecret, ...])
_names = msgspec.json.Decoder(tuple[str, ...])


def _retry_text(retry: Retry | None) -> str | None:
    return None if retry is None else msgspec.json.encode(retry).decode()


MENDED_BY = "change it to what is right, or delete it."

_triggers = RowReader(TRIGGER, MENDED_BY, retry=Column(optional(_retry.decode)), options=Column(from_text, NO_DEFAULTS))
_endpoints = RowReader(
    ENDPOINT,
    MENDED_BY,
    patterns=Column(_names.decode, ()),
    secrets=Column(_secrets.decode, ()),
    retry=Column(optional(_retry.decode)),
    rate=Column(rate_text),
)


def trigger_values(trigger: Trigger) -> dict[str, Any]:
    values = msgspec.structs.asdict(trigger)
    values |= {"retry": _retry_text(trigger.retry), "options": to_text(trigger.options)}
    return written_back(values, trigger.unreadable)


def trigger_from(row: Row) -> Trigger:
    values = _triggers.read(row)
    return Trigger(**(values | {"enabled": bool(values["enabled"])}))


def endpoint_values(endpoint: Endpoint) -> dict[str, Any]:
    values = msgspec.structs.asdict(endpoint)
    values["headers"] = values.pop("headers_text")
    values["patterns"] = msgspec.json.encode(endpoint.patterns).decode()
    values["secrets"] = msgspec.json.encode(endpoint.secrets).decode()
    return written_back(values | {"retry": _retry_text(endpoint.retry)}, endpoint.unreadable)


def endpoint_from(row: Row) -> Endpoint:
    values = _endpoints.read(row)
    values["headers_text"] = values.pop("headers")
    return Endpoint(**(values | {"enabled": bool(values["enabled"])}))


def health_from(row: Row) -> Health:
    return Health(**fields_in_utc(HEALTH, row))

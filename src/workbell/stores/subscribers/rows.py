"""Rows of triggers, endpoints and their health: which column is which field, in both directions."""

from __future__ import annotations

from typing import Any

import msgspec

from workbell.model.endpoint import Endpoint, Health, SealedSecret
from workbell.model.retry import Retry
from workbell.model.run_defaults import from_text, to_text
from workbell.model.trigger import Trigger
from workbell.stores.database import Row
from workbell.stores.times import fields_in_utc

TRIGGER = (
    "id tenant name description pattern job enabled retry source declared_at version created_at updated_at options"
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


def _retry_from(text: str | None) -> Retry | None:
    return None if text is None else _retry.decode(text)


def trigger_values(trigger: Trigger) -> dict[str, Any]:
    return msgspec.structs.asdict(trigger) | {"retry": _retry_text(trigger.retry), "options": to_text(trigger.options)}


def trigger_from(row: Row) -> Trigger:
    values = fields_in_utc(TRIGGER, row)
    values |= {"retry": _retry_from(values["retry"]), "enabled": bool(values["enabled"])}
    return Trigger(**(values | {"options": from_text(values["options"])}))


def endpoint_values(endpoint: Endpoint) -> dict[str, Any]:
    values = msgspec.structs.asdict(endpoint)
    values["headers"] = values.pop("headers_text")
    values["patterns"] = msgspec.json.encode(endpoint.patterns).decode()
    values["secrets"] = msgspec.json.encode(endpoint.secrets).decode()
    return values | {"retry": _retry_text(endpoint.retry)}


def endpoint_from(row: Row) -> Endpoint:
    values = fields_in_utc(ENDPOINT, row)
    values |= {"retry": _retry_from(values["retry"]), "enabled": bool(values["enabled"])}
    values["headers_text"] = values.pop("headers")
    values["patterns"] = _names.decode(values["patterns"])
    values["secrets"] = _secrets.decode(values["secrets"])
    return Endpoint(**values)


def health_from(row: Row) -> Health:
    return Health(**fields_in_utc(HEALTH, row))

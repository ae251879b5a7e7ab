"""Finds an endpoint by its id, or by the beginning or end of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click
import msgspec

from workbell.cli.bell import AnyClient
from workbell.cli.runs.find import SHORTEST
from workbell.errors import InvalidOption
from workbell.model.endpoint import Endpoint
from workbell.wire.webhooks import EndpointShown

Command = TypeVar("Command", bound=Callable[..., Any])


def endpoint_argument(command: Command) -> Command:
    return click.argument("endpoint_id", metavar="ID")(command)


def described(bell: AnyClient, endpoint_id: str) -> EndpointShown:
    """An endpoint and how it goes, as the API shows it."""
    return _shown(bell.webhooks.describe(endpoint_id))


def all_described(bell: AnyClient) -> list[EndpointShown]:
    return [_shown(one) for one in bell.webhooks.describe_all()]


def _shown(found: dict[str, Any] | EndpointShown) -> EndpointShown:
    return found if isinstance(found, EndpointShown) else msgspec.convert(found, EndpointShown)


def find_endpoint(bell: AnyClient, text: str) -> Endpoint | EndpointShown:
    part = text.strip().lower()
    known = bell.webhooks.list()
    found = [one for one in known if len(part) >= SHORTEST and (one.id.endswith(part) or one.id.startswith(part))]
    if len(found) > 1:
        listed = ", ".join(one.id for one in found[:3])
        raise InvalidOption(f"{text!r} is a part of {len(found)} ids, such as {listed}; give more of it.")
    return found[0] if found else bell.webhooks.get(text)

"""Finds an endpoint by its id, or by the beginning or end of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from workbell.cli.runs.find import SHORTEST
from workbell.client.local import LocalClient
from workbell.errors import InvalidOption
from workbell.model.endpoint import Endpoint

Command = TypeVar("Command", bound=Callable[..., Any])


def endpoint_argument(command: Command) -> Command:
    return click.argument("endpoint_id", metavar="ID")(command)


def find_endpoint(bell: LocalClient, text: str) -> Endpoint:
    part = text.strip().lower()
    known = bell.webhooks.list()
    found = [one for one in known if len(part) >= SHORTEST and (one.id.endswith(part) or one.id.startswith(part))]
    if len(found) > 1:
        listed = ", ".join(one.id for one in found[:3])
        raise InvalidOption(f"{text!r} is a part of {len(found)} ids, such as {listed}; give more of it.")
    return found[0] if found else bell.webhooks.get(text)

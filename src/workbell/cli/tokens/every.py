"""Options that select the tokens of one tenant, or of all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from workbell.model.access import EVERY_TENANT

Command = TypeVar("Command", bound=Callable[..., Any])


def every_tenant_option(text: str) -> Callable[[Command], Command]:
    return click.option("--every-tenant", is_flag=True, help=text)


def whose(tenant: str | None, every_tenant: bool) -> tuple[str | None, bool]:
    """The tenant to open the store for, and whether all are meant: `--tenant '*'` says that too."""
    if tenant == EVERY_TENANT:
        return None, True
    return tenant, every_tenant

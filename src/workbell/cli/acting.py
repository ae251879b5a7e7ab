"""Audit entries of commands: the system user as actor, and what was changed."""

from __future__ import annotations

import getpass
import os
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from workbell.app import Workbell
from workbell.cli.bell import AnyClient
from workbell.cli.output import echo
from workbell.errors import JobsError
from workbell.model.access import EVERY_TENANT
from workbell.model.audit import Actor, ActorKind
from workbell.model.job import TENANT

if TYPE_CHECKING:
    from workbell.remote.client import Client


def operator() -> Actor:
    """`cli:ada@host`: the actor of a command: the system's user."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a user without a name, as in some containers
        user = str(os.getuid()) if hasattr(os, "getuid") else "somebody"
    return Actor(kind=ActorKind.CLI, name=f"{user}@{socket.gethostname()}")


def say_tenant(bell: AnyClient, tenant: str | None = None) -> None:
    """Say which tenant a command writes to, unless it is the default; on stderr, above what the command says."""
    written = tenant or (bell.tenant if isinstance(bell, Workbell) else _tenant_there(bell))
    if written not in (None, TENANT, EVERY_TENANT):
        echo(f"In tenant {written}:", err=True)


def _tenant_there(client: Client) -> str | None:
    """The tenant that a service writes to: the one that was named, or else the token's, which the service knows."""
    from workbell.remote.asking import ask
    from workbell.wire import tokens

    if client.transport.tenant is not None:
        return client.transport.tenant
    with suppress(JobsError):  # what was asked for is done, or will say itself what is wrong
        found: tokens.SelfShown = client.transport.follow(ask(tokens.me, {}))
        return found.tenant
    return None


def note(
    bell: AnyClient,
    action: str,
    subject: str = "",
    *,
    tenant: str | None = None,
    detail: Any = None,
    aloud: bool = True,
) -> None:
    """Write an action to the audit log, and say the tenant unless the command does. A service audits by itself."""
    if aloud:
        say_tenant(bell, tenant)
    if isinstance(bell, Workbell):
        bell.audit.add(action, subject, actor=operator(), detail=detail, tenant=tenant)


def created_by(bell: AnyClient) -> dict[str, Any]:
    """The option `created_by` of verbs that make something; a service goes by the token."""
    return {"created_by": str(operator())} if isinstance(bell, Workbell) else {}

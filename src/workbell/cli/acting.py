"""Audit entries of commands: the system user as actor, and what was changed."""

from __future__ import annotations

import getpass
import os
import socket
from typing import Any

from workbell.client.local import LocalClient
from workbell.model.audit import Actor, ActorKind


def operator() -> Actor:
    """`cli:ada@host`: the actor of a command: the system's user."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a user without a name, as in some containers
        user = str(os.getuid()) if hasattr(os, "getuid") else "somebody"
    return Actor(kind=ActorKind.CLI, name=f"{user}@{socket.gethostname()}")


def note(bell: LocalClient, action: str, subject: str = "", *, tenant: str | None = None, detail: Any = None) -> None:
    """Write an action to the audit log."""
    bell.audit.add(action, subject, actor=operator(), detail=detail, tenant=tenant)

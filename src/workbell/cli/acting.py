"""Who works at the command line, and what they changed: for the audit log."""

from __future__ import annotations

import getpass
import os
import socket
from typing import Any

from workbell.client.client import Client


def operator() -> str:
    """`cli:ada@host`: the system's user, which is all that is known of who types."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a user without a name, as in some containers
        user = str(os.getuid()) if hasattr(os, "getuid") else "somebody"
    return f"cli:{user}@{socket.gethostname()}"


def note(bell: Client, action: str, subject: str = "", *, tenant: str | None = None, detail: Any = None) -> None:
    """Have an action stand in the audit log."""
    bell.audit.add(action, subject, actor=operator(), detail=detail, tenant=tenant)

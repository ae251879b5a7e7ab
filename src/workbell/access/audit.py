"""The verbs about the audit log: `bell.audit.add` and list. An entry is only ever added, never changed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from workbell.access.detail import detail_text, shown_text
from workbell.access.token_request import checked_tenant
from workbell.errors import InvalidOption
from workbell.model.access import EVERY_TENANT
from workbell.model.audit import Actor, ActorKind, AuditEntry
from workbell.model.ids import is_id, new_id
from workbell.runs.runtime import Runtime, in_thread

PAGE = 1000


class Audit:
    """Audit log of a tenant: `bell.audit`."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def add(
        self,
        action: str,
        subject: str = "",
        *,
        actor: str | Actor,
        detail: Any = None,
        address: str | None = None,
        tenant: str | None = None,
    ) -> AuditEntry:
        """Note an action: `bell.audit.add("runs.cancel", run.id, actor="ada")`.

        A name is stored as `app:ada`: no name that a program gets from elsewhere can pretend to be the command line's.
        What seems to be a secret is left out, and what is too long is cut: the action itself is always stored.
        """
        store = self._runtime.store
        whose = self._runtime.tenant if tenant is None else checked_tenant(tenant)
        entry = new_entry(whose, store.clock.now(), action, subject, actor=actor, detail=detail, address=address)
        store.audit.add([entry])
        return entry

    aadd = in_thread(add)

    def list(self, *, before: str | None = None, limit: int = 100, tenant: str | None = None) -> Sequence[AuditEntry]:
        """Entries, newest first: of this tenant, of the one that is named, or with `"*"` of all."""
        if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= PAGE:
            raise InvalidOption(f"limit: {limit!r} is not from 1 to {PAGE}.")
        if before is not None and not is_id(before):
            raise InvalidOption(f"before: {before!r} is not the id of an entry.")
        whose = self._runtime.tenant if tenant is None else checked_tenant(tenant)
        return self._runtime.store.audit.list(None if whose == EVERY_TENANT else whose, before=before, limit=limit)

    alist = in_thread(list)  # noqa: A003


def new_entry(
    tenant: str,
    now: datetime,
    action: str,
    subject: str,
    *,
    actor: str | Actor,
    detail: Any = None,
    address: str | None = None,
) -> AuditEntry:
    """An entry that is not written yet. An actor that is only a name was named by the application."""
    who = actor if isinstance(actor, Actor) else Actor(kind=ActorKind.APP, name=actor)
    return AuditEntry(
        id=new_id(),
        tenant=tenant,
        at=now,
        actor=shown_text(who),
        action=shown_text(action),
        subject=shown_text(subject),
        detail_text=detail_text(detail, who.facts()),
        address=None if address is None else shown_text(address),
    )

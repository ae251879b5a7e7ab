"""The verbs about the audit log: `bell.audit.add` and list. An entry is only ever added, never changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from workbell.access.asked import checked_tenant
from workbell.access.detail import detail_text, shown_text
from workbell.errors import InvalidOption
from workbell.model.access import EVERY_TENANT
from workbell.model.audit import AuditEntry
from workbell.model.ids import is_id, new_id

if TYPE_CHECKING:
    from workbell.client.client import Client

PAGE = 1000


class Audit:
    """What was done for a tenant, and by whom: `bell.audit`."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def add(
        self,
        action: str,
        subject: str = "",
        *,
        actor: str,
        detail: Any = None,
        address: str | None = None,
        tenant: str | None = None,
    ) -> AuditEntry:
        """Note an action: `bell.audit.add("runs.cancel", run.id, actor="ada")`.

        Nothing that looks like a secret is kept, and what is too long is cut: an action is never left out for it.
        """
        store = self._client.store
        entry = AuditEntry(
            id=new_id(),
            tenant=self._client.tenant if tenant is None else checked_tenant(tenant),
            at=store.clock.now(),
            actor=shown_text(actor),
            action=shown_text(action),
            subject=shown_text(subject),
            detail_text=detail_text(detail),
            address=None if address is None else shown_text(address),
        )
        store.audit.add([entry])
        return entry

    async def aadd(
        self,
        action: str,
        subject: str = "",
        *,
        actor: str,
        detail: Any = None,
        address: str | None = None,
        tenant: str | None = None,
    ) -> AuditEntry:
        return await self._client.hop(
            lambda: self.add(action, subject, actor=actor, detail=detail, address=address, tenant=tenant)
        )

    def list(self, *, before: str | None = None, limit: int = 100, tenant: str | None = None) -> Sequence[AuditEntry]:
        """Entries, newest first: of this tenant, of the one that is named, or with `"*"` of all."""
        if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= PAGE:
            raise InvalidOption(f"limit: {limit!r} is not from 1 to {PAGE}.")
        if before is not None and not is_id(before):
            raise InvalidOption(f"before: {before!r} is not the id of an entry.")
        whose = self._client.tenant if tenant is None else checked_tenant(tenant)
        return self._client.store.audit.list(None if whose == EVERY_TENANT else whose, before=before, limit=limit)

    async def alist(
        self, *, before: str | None = None, limit: int = 100, tenant: str | None = None
    ) -> Sequence[AuditEntry]:
        return await self._client.hop(lambda: self.list(before=before, limit=limit, tenant=tenant))

"""Tenants, in the store: what is set for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from workbell.model.tenant import Tenant
from workbell.stores.database import Batch, Database, Statement, read_rows
from workbell.stores.pending_entry import write_action, write_guarded
from workbell.stores.reading import Column, RowReader, rate_text, written_back

PAGE = 1000
TENANT = tuple(name for name in Tenant.__struct_fields__ if name != "unreadable")
_rows = RowReader(TENANT, "set it again; until then nothing limits the tenant's starts.", rate=Column(rate_text))


Listed = list[Tenant]  # inside the class `list` is the verb
Names = list[str]


class StoredTenants:
    """Weights and limits of tenants. One that nothing is set for has no row."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, tenant: Tenant) -> None:
        write_action(self._database, [Statement("put_tenant", _values(tenant))])

    def delete(self, name: str) -> bool:
        """Forget what was set for a tenant; its runs stay."""
        return bool(write_guarded(self._database, Statement("delete_tenant", {"name": name})))

    def list(self) -> Listed:
        """Tenants that have settings, by name."""
        found = [Tenant(**_rows.read(row)) for row in read_rows(self._database, "tenants")]
        return sorted(found, key=lambda tenant: tenant.name)  # a database may have an order of its own for words

    def find(self, names: Sequence[str]) -> dict[str, Tenant]:
        """The settings of those of these tenants that have some."""
        found = read_rows(self._database, "tenants_with_names", names=[*names]) if names else []
        return {tenant.name: tenant for tenant in (Tenant(**_rows.read(row)) for row in found)}

    def known(self, *, after: str = "", limit: int = PAGE) -> Names:
        """A page of the tenants that have a lane, a token or a setting, by name, in the database's order of words."""
        return [row[0] for row in read_rows(self._database, "known_tenants", after=after, limit=limit)]

    def is_known(self, name: str) -> bool:
        """Whether a tenant has a lane, a token or a setting."""
        settings = Statement("tenants_with_names", {"names": [name]})
        return any(self._database.read([settings, Statement("trace_of_tenant", {"name": name})]))

    def loading(self, tenants: Sequence[Tenant]) -> Batch:
        """The statements that take over tenants of another store."""
        return [Statement("load_tenant", _values(tenant)) for tenant in tenants]


def _values(tenant: Tenant) -> dict[str, Any]:
    return written_back(msgspec.structs.asdict(tenant), tenant.unreadable)

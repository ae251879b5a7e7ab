"""The verbs about tenants: `bell.tenants.put`, get, list, delete. A tenant needs no setting up to be used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict, Unpack

import msgspec

from workbell.errors import InvalidOption, TenantNotFound
from workbell.model.access import EVERY_TENANT
from workbell.model.job import NAME_LIMIT
from workbell.model.job import name as usable_name
from workbell.model.json_text import clean_text
from workbell.model.tenant import Tenant, check_tenant
from workbell.runs.runtime import Runtime, in_thread
from workbell.wire.tenants import NEVER

DESCRIPTION = 1000  # characters
MOST = 1000  # tenants of a page


class TenantSettings(TypedDict, total=False):
    """Settings of a tenant."""

    weight: int
    concurrency: int | None
    rate: str | None
    description: str


class Tenants:
    """All tenants of the store: `bell.tenants`."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def put(self, name: str, **settings: Unpack[TenantSettings]) -> Tenant:
        """Set what is named, the rest stays: `bell.tenants.put("acme", weight=3, concurrency=10, rate="100/m")`.

        Where several tenants have runs waiting, each gets starts in proportion to its weight. `concurrency=None` and
        `rate=None` take a limit away.
        """
        _checked_name(name)
        unknown = set(settings) - set(TenantSettings.__annotations__)
        if unknown:
            known = ", ".join(TenantSettings.__annotations__)
            raise InvalidOption(f"tenant {name}: there is no {sorted(unknown)[0]!r}; it has {known}.")
        if not isinstance(settings.get("description", ""), str):
            raise InvalidOption(f"tenant {name}: the description must be a text.")
        if "description" in settings:
            settings["description"] = clean_text(settings["description"], DESCRIPTION)
        store = self._runtime.store
        now = store.clock.now()
        known_one = store.tenants.find([name]).get(name) or Tenant(name=name, created_at=now, updated_at=now)
        unreadable = known_one.unreadable and known_one.unreadable.left(settings)
        changed = check_tenant(msgspec.structs.replace(known_one, **settings, updated_at=now, unreadable=unreadable))
        store.tenants.put(changed)
        return changed

    aput = in_thread(put)

    def get(self, name: str) -> Tenant:
        """A tenant that something was set for, or that has a run or a token."""
        tenants = self._runtime.store.tenants
        # What no tenant can be called, no database need be asked for.
        if not is_usable(name) or not tenants.is_known(name):
            raise TenantNotFound(f"There is no tenant {name!r}; `workbell tenants list` shows those that are.")
        return tenants.find([name]).get(name) or _plain(name)

    aget = in_thread(get)

    def list(self, *, after: str = "", limit: int = MOST) -> Sequence[Tenant]:
        """Tenants by name; one that nothing was set for has a weight of 1 and no limits.

        Up to `limit` of them; `after` is the name of the last one of the page before.
        """
        if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MOST:
            raise InvalidOption(f"limit: {limit!r} is not from 1 to {MOST:,}.")
        store = self._runtime.store
        names = store.tenants.known(after=clean_text(after, NAME_LIMIT), limit=limit)
        settings = store.tenants.find(names)
        return [settings.get(name) or _plain(name) for name in names]

    alist = in_thread(list)  # noqa: A003

    def delete(self, name: str) -> None:
        """Forget what was set for a tenant: its weight is 1 again, and its limits are gone. Its runs stay."""
        _checked_name(name)
        if not self._runtime.store.tenants.delete(name):
            raise TenantNotFound(f"Nothing was set for a tenant {name!r}; `workbell tenants list` shows all.")

    adelete = in_thread(delete)


def _plain(name: str) -> Tenant:
    """One that nothing was set for."""
    return Tenant(name=name, created_at=NEVER, updated_at=NEVER)


def is_usable(name: str) -> bool:
    try:
        _checked_name(name)
    except InvalidOption:
        return False
    return True


def _checked_name(name: str) -> str:
    if name == EVERY_TENANT:
        raise InvalidOption(f"tenant {EVERY_TENANT}: that means every tenant; give the name of one.")
    return usable_name("tenant", name, InvalidOption)

"""Finding schedules of a tenant by their names or ids."""

from __future__ import annotations

from collections.abc import Sequence

from workbell.errors import ScheduleNotFound
from workbell.model.ids import id_of
from workbell.model.schedule import Schedule
from workbell.stores.port import Store

PAGE = 1000


def find_schedule(store: Store, tenant: str, name: str) -> Schedule:
    """A schedule by its name, or by its id, which is what its runs know of it, or the id that it was imported with."""
    found = schedules_named(store, tenant, [name]).get(name)
    if found is None:
        known = store.schedules.get(id_of(name))
        found = known if known is not None and known.tenant == tenant else None
    if found is None:
        raise ScheduleNotFound(f"There is no schedule {name!r}; bell.schedules.list() shows those there are.")
    return found


def schedules_named(store: Store, tenant: str, names: Sequence[str]) -> dict[str, Schedule]:
    """Those of these names that there are, by name."""
    found: dict[str, Schedule] = {}
    names = [name for name in names if isinstance(name, str) and name.isprintable()]  # no other was ever put
    for start in range(0, len(names), PAGE):
        found |= store.schedules.find(tenant, names[start : start + PAGE])
    return found

"""Encryption of the alert and ping URLs of schedules."""

from __future__ import annotations

import msgspec

from workbell.model.alert import URLS
from workbell.model.schedule import Schedule, ScheduleChange
from workbell.stores.port import Store
from workbell.trust.sealing import Sealer

PAGE = 1000
TRIES = 20


def seal_schedules(store: Store, tenant: str, sealer: Sealer) -> None:
    """Seal them with the first key, whether they were sealed or not."""
    after = ""
    while page := store.schedules.list(tenant, source=None, after=after, limit=PAGE):
        after = page[-1].name
        for schedule in page:
            if any(getattr(schedule.options, word) is not None for word in URLS):
                _seal(store, schedule.id, sealer)


def _seal(store: Store, schedule_id: str, sealer: Sealer) -> None:
    """Again where a scheduler was faster."""
    for _ in range(TRIES):
        known = store.schedules.get(schedule_id)
        if known is None or store.schedules.write([_sealed(known, sealer)]):
            return


def _sealed(schedule: Schedule, sealer: Sealer) -> ScheduleChange:
    stored = {word: getattr(schedule.options, word) for word in URLS}
    urls = {word: sealer.seal_url(sealer.open_url(url)) for word, url in stored.items() if url is not None}
    options = msgspec.structs.replace(schedule.options, **urls)
    new = msgspec.structs.replace(schedule, options=options)
    return ScheduleChange(schedule=new, expected=schedule.version, defines=True)

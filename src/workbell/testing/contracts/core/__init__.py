"""Contract of the core of a store: runs, schedules and jobs. The same for every store.

Subclass `CoreContract` and supply a fixture `store` that gives an empty store, ready to use (`store.check()` called).
"""

from workbell.testing.contracts.core.adding import AddingContract
from workbell.testing.contracts.core.choosing import ChoosingContract
from workbell.testing.contracts.core.claiming import ClaimingContract
from workbell.testing.contracts.core.deduplicating import DeduplicatingContract
from workbell.testing.contracts.core.leasing import LeasingContract
from workbell.testing.contracts.core.limiting import LimitingContract
from workbell.testing.contracts.core.moving import MovingContract
from workbell.testing.contracts.core.reading import ReadingContract
from workbell.testing.contracts.core.scheduling import SchedulingContract
from workbell.testing.contracts.core.sharing import SharingContract
from workbell.testing.contracts.core.texts import TextsContract


class CoreContract(
    AddingContract,
    DeduplicatingContract,
    ChoosingContract,
    ClaimingContract,
    LeasingContract,
    LimitingContract,
    MovingContract,
    ReadingContract,
    SchedulingContract,
    SharingContract,
    TextsContract,
):
    """Contract of every store."""


__all__ = ["CoreContract"]

"""The contract of a store: one suite, the same for every store, and no question which one it is.

Subclass `StoreContract` and supply a fixture `store` that gives an empty store, ready to use (`store.check()` called).
"""

from workbell.testing.contracts.store.access import AccessContract
from workbell.testing.contracts.store.adding import AddingContract
from workbell.testing.contracts.store.agents import AgentsContract
from workbell.testing.contracts.store.claiming import ClaimingContract
from workbell.testing.contracts.store.copying import CopyingContract
from workbell.testing.contracts.store.deduplicating import DeduplicatingContract
from workbell.testing.contracts.store.events import EventsContract
from workbell.testing.contracts.store.fanning import FanningContract
from workbell.testing.contracts.store.leasing import LeasingContract
from workbell.testing.contracts.store.limiting import LimitingContract
from workbell.testing.contracts.store.looking import LookingContract
from workbell.testing.contracts.store.moving import MovingContract
from workbell.testing.contracts.store.pausing import PausingContract
from workbell.testing.contracts.store.people import PeopleContract
from workbell.testing.contracts.store.reading import ReadingContract
from workbell.testing.contracts.store.scheduling import SchedulingContract
from workbell.testing.contracts.store.searching import SearchingContract
from workbell.testing.contracts.store.sharing import SharingContract
from workbell.testing.contracts.store.subscribing import SubscribingContract
from workbell.testing.contracts.store.tallies import TalliesContract
from workbell.testing.contracts.store.texts import TextsContract
from workbell.testing.contracts.store.watching import WatchingContract


class StoreContract(
    AddingContract,
    DeduplicatingContract,
    ClaimingContract,
    LeasingContract,
    LimitingContract,
    PausingContract,
    MovingContract,
    ReadingContract,
    SearchingContract,
    SchedulingContract,
    LookingContract,
    EventsContract,
    FanningContract,
    SubscribingContract,
    AccessContract,
    PeopleContract,
    AgentsContract,
    TalliesContract,
    WatchingContract,
    CopyingContract,
    TextsContract,
    SharingContract,
):
    """Everything a store must do."""


__all__ = ["StoreContract"]

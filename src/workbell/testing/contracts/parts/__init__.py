"""Contract of the optional parts of a store, such as events, logs and pauses.

Subclass `PartsContract` and supply a fixture `store` that gives an empty store, ready to use (`store.check()` called).
"""

from workbell.testing.contracts.parts.access import AccessContract
from workbell.testing.contracts.parts.agents import AgentsContract
from workbell.testing.contracts.parts.charts import ChartsContract
from workbell.testing.contracts.parts.copying import CopyingContract
from workbell.testing.contracts.parts.defining import DefiningContract
from workbell.testing.contracts.parts.events import EventsContract
from workbell.testing.contracts.parts.fanning import FanningContract
from workbell.testing.contracts.parts.lanes import LanesContract
from workbell.testing.contracts.parts.pausing import PausingContract
from workbell.testing.contracts.parts.people import PeopleContract
from workbell.testing.contracts.parts.searching import SearchingContract
from workbell.testing.contracts.parts.subscribing import SubscribingContract
from workbell.testing.contracts.parts.tallies import TalliesContract
from workbell.testing.contracts.parts.watching import WatchingContract


class PartsContract(
    PausingContract,
    LanesContract,
    SearchingContract,
    ChartsContract,
    DefiningContract,
    EventsContract,
    FanningContract,
    SubscribingContract,
    AccessContract,
    PeopleContract,
    AgentsContract,
    TalliesContract,
    WatchingContract,
    CopyingContract,
):
    """Contract of a store with all parts."""


__all__ = ["PartsContract"]

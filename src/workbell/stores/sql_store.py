"""A store over an SQL database: its parts, each a class of its own, and what concerns all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime

from workbell.model.rewind import StorePosition
from workbell.model.state import Retention
from workbell.stores import sql_copy
from workbell.stores.access.answers import Answers
from workbell.stores.access.audit import AuditLog
from workbell.stores.access.tenants import StoredTenants
from workbell.stores.access.tokens import StoredTokens
from workbell.stores.agents.agents import StoredAgents
from workbell.stores.database import Database
from workbell.stores.events.events import StoredEvents
from workbell.stores.jobs.definitions import StoredDefinitions
from workbell.stores.jobs.jobs import StoredJobs
from workbell.stores.keyed_writes import LockWaits
from workbell.stores.limits.limits import LimitedClaims
from workbell.stores.logs.logs import Logs
from workbell.stores.notifications.notifications import StoredNotifications
from workbell.stores.pauses.pauses import StoredPauses
from workbell.stores.port import StoreWatch
from workbell.stores.publisher import Publisher
from workbell.stores.reports.reports import StoredReports
from workbell.stores.reports.search import Search
from workbell.stores.runs.lanes import Lanes
from workbell.stores.runs.making import Making
from workbell.stores.runs.runs import StoredRuns
from workbell.stores.schedules.schedules import StoredSchedules
from workbell.stores.store_page import StorePage
from workbell.stores.subscribers.subscribers import Subscribers
from workbell.stores.tallies.tallies import StoredTallies
from workbell.stores.workers.rewinds import StoredRewinds
from workbell.stores.workers.services import Services
from workbell.stores.workers.workers import StoredWorkers


class SqlStore:
    """All parts over one database."""

    def __init__(self, database: Database, keep: Retention) -> None:
        self.database = database
        self.clock = database.clock
        self.keep = keep
        self._waits = LockWaits(database.connections)
        self.lanes = Lanes(database)
        self.pauses = StoredPauses(database)
        self.limits = LimitedClaims(database)
        self.reports = StoredReports(database, self.lanes, self.pauses)
        making = self._making = Making(database, self.lanes, keep, self._waits)
        self.runs = StoredRuns(database, self.lanes, self.limits, Search(database, self.lanes), making)
        self.schedules = StoredSchedules(database, self.lanes, making, keep)
        self.events = StoredEvents(database, self.lanes, making, self._waits)
        self.jobs = StoredJobs(database)
        self.subscribers = Subscribers(database)
        self.definitions = StoredDefinitions(database)
        self.logs = Logs(database)
        self.workers = StoredWorkers(database)
        self.services = Services(database)
        self.rewinds = StoredRewinds(database)
        self.tokens = StoredTokens(database)
        self.tenants = StoredTenants(database)
        self.audit = AuditLog(database, keep)
        self.answers = Answers(database)
        self.notifications = StoredNotifications(database, keep)
        self.agents = StoredAgents(database)
        self.tallies = StoredTallies(database)

    @property
    def engine(self) -> str:
        return self.database.dialect.engine

    @property
    def publisher(self) -> Publisher:
        return self._making.publisher

    @publisher.setter
    def publisher(self, publisher: Publisher) -> None:
        self._making.publisher = publisher

    def prune(self, now: datetime, limit: int, kinds: Counter[str] | None = None) -> int:
        gone: Counter[str] = Counter()
        gone["ticks"] = self.schedules.prune(now - self.keep.other, limit)
        runs, gone["keys"] = self.runs.prune(now, limit)
        events = self.events.prune(now - self.keep.events, limit)
        gone["runs"], gone["events"] = runs.rows, events.rows
        gone["access"] = sum(part.prune(now, limit) for part in (self.tokens, self.audit, self.answers))
        notifications = self.notifications.prune(now, limit)
        gone["notifications"] = notifications.rows
        gone["tallies"] = self.tallies.prune(now, limit)
        gone["rewinds"] = self.rewinds.prune(now, limit)
        self.limits.prune(now)
        if kinds is not None:
            kinds.update(gone)
        cut = runs.more or events.more or notifications.more
        return max(gone.total(), limit) if cut else gone.total()

    @property
    def hints(self) -> bool:
        return self.database.hints

    def watch(self) -> StoreWatch:
        return self.database.watch()

    def wake(self) -> None:
        self.database.wake()

    def limit_connections(self, count: int) -> None:
        self.database.limit_connections(count)
        self._waits.resize(self.database.connections)

    def tidy(self) -> None:
        self.database.tidy()

    def measure_time(self) -> None:
        self.database.measure_time()

    def position(self) -> StorePosition | None:
        return self.database.position()

    def check(self, *, joining: bool = False) -> None:
        self.database.ready(joining=joining)

    def identity(self) -> str:
        self.check()
        tables = self.database.tables()
        assert tables is not None, "they are made by the check"
        return tables.store_id

    def migrate(self) -> list[str]:
        return self.database.migrate()

    def describe(self) -> list[tuple[str, str, str]]:
        return self.database.describe()

    def export(self) -> Iterable[StorePage]:
        return sql_copy.export(self)

    def load(self, batch: StorePage) -> None:
        self.database.write(sql_copy.loading(self, batch))

    def close(self) -> None:
        self.database.close()

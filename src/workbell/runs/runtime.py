"""Runtime: what the verbs of one tenant share. Each part of a client takes it in its constructor.

It knows the store, the registry of jobs, the tenant and the threads of this process, and no verbs. What other parts of
the process do (an engine that runs here, a queue beside the store, people's connections) is behind `Hooks`.
"""

from __future__ import annotations

import contextvars
import copy
import functools
import logging
from collections.abc import Callable, Collection, Coroutine, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from workbell.errors import InvalidOption
from workbell.events.alerting import Alerting
from workbell.events.publishing import EventPublishing
from workbell.events.subscriptions import Subscriptions
from workbell.handlers.definitions import Definitions
from workbell.handlers.registry import Registry
from workbell.model.access import EVERY_TENANT
from workbell.model.event import SYSTEM_SOURCE
from workbell.model.job import TENANT, name
from workbell.model.run import Run
from workbell.model.run_defaults import RESCHEDULES, Maker
from workbell.model.state import Retention
from workbell.notices.listeners import Describe, nothing_known
from workbell.notices.push_message import Message
from workbell.process.identity import process_name, program_name
from workbell.process.verb_threads import Threads
from workbell.runs.booking import Booking
from workbell.runs.publisher import RunPublisher
from workbell.runs.tally_chart import TallyCharts
from workbell.runs.waiter import Waiter
from workbell.stores.port import Store

log = logging.getLogger("workbell.runs")

T = TypeVar("T")
P = ParamSpec("P")


def nothing(*_: object) -> None:
    """No other part of this process takes part."""


@dataclass(slots=True)
class Hooks:
    """Calls into other parts of this process. All tenants of a Workbell share one, so a change reaches all of them."""

    wake: Callable[[], object] = nothing  # the engine that runs here
    # New runs, to a queue beside the store; False: a hint of the store is needed besides.
    announce: Callable[[Iterable[Run]], bool] | None = None
    post: Callable[[Message], object] = nothing  # to the connections of people; without it they read the store
    read_back: Callable[[Sequence[Run]], list[Run]] | None = None  # new runs, where a test executes them at once
    describe: Describe = nothing_known  # the job of a run, for events about it

    def describe_run(self, run: Run) -> tuple[str | None, str | None]:
        return self.describe(run)


@dataclass(slots=True)
class _StoreInUse:
    """The store of a Workbell. All its tenants share one of these, so another store is another one for all."""

    store: Store
    checked: bool = False


class Runtime:
    """The store, the jobs, the tenant, and what this process shares between the verbs of all tenants."""

    def __init__(
        self,
        store: Store,
        registry: Registry,
        *,
        keep: Retention,
        tenant: str = TENANT,
        timezone: str | None = None,
        event_source: str | None = None,
        reschedules: int = RESCHEDULES,
        hooks: Hooks | None = None,
    ) -> None:
        self.registry = registry
        self.tenant = _checked(tenant)
        self.keep = keep
        self.timezone = timezone
        self.event_source = event_source or source_of(program_name())
        self.reschedules = reschedules  # most runs in a chain of `auto_reschedule`
        self.hooks = shared = hooks or Hooks()
        self.threads = Threads()
        self.waiter = Waiter(lambda: self.store)
        self.tally_charts = TallyCharts(lambda: self.store)
        self.subscriptions = Subscriptions(lambda: self.store)
        self.definitions = Definitions(lambda: self.store)
        registry.find_definition = self.definitions.find
        events = EventPublishing(
            self.subscriptions, Alerting(lambda: self.store, registry, tenant), shared.describe_run, tenant
        )
        self.publisher = RunPublisher(lambda: self.store, events, sinks=[self.waiter], hint=self.wake)
        self.booking = Booking(lambda: self.store, self.publisher, keep)
        self._in_use = _StoreInUse(store)
        self._owns_threads = True
        self.use_store(store)

    def _put_store(self, store: Store) -> None:
        self._in_use.store = store

    # The store of all tenants. Read several times for each run, so without a call of a Python function.
    store: Store = property(attrgetter("_in_use.store"), _put_store)  # type: ignore[assignment]

    def use_store(self, store: Store) -> None:
        """Read and write this store from now on, for all tenants."""
        self.store = store
        store.publisher = self.booking
        self._in_use.checked = False

    def for_tenant(self, tenant: str) -> Runtime:
        """The same for another tenant; all but the name is shared, and the threads end with this one."""
        other = copy.copy(self)
        other.tenant = _checked(tenant)
        other._owns_threads = False
        return other

    @property
    def maker(self) -> Maker:
        """This process, as the maker of runs."""
        return Maker(process_name(), self.reschedules)

    def declare_jobs(self, names: Collection[str] | None = None) -> None:
        """Store the jobs of the code here, or those of these names. Code comes before definitions of its names."""
        declared = self.registry.sealed_jobs(self.store.clock, self.tenant)
        wanted = [job for job in declared if names is None or job.name in names]
        defined = self.definitions.recent()
        for job in wanted:
            if (job.tenant, job.name) in defined:
                log.warning("job %s: code declares it now, and replaces the definition of this name", job.name)
        self.store.jobs.put(wanted)
        self.definitions.forget()

    def wake(self) -> None:
        """Have the engine of this process read the store at once, if one runs here."""
        self.hooks.wake()

    async def ready(self) -> None:
        """Check the store, and make its tables, on a thread: the first time, that would block the event loop."""
        if not self._in_use.checked:
            await self.hop(self.store.check)
            self._in_use.checked = True

    async def hop(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a call on a thread. It is shielded: a cancelled caller does not tear a write in half."""
        return await _run_on(self.threads.pool, lambda: call(*args, **kwargs))

    async def hop_apart(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The same for a call that may have to wait for a key: on threads that no other call needs."""
        return await _run_on(self.threads.waiting, lambda: call(*args, **kwargs))

    def in_background(self, call: Callable[[], object]) -> bool:
        """Run a call on a thread without waiting for it; false, if this is closed."""
        try:
            self.threads.pool.submit(call)
        except RuntimeError:
            return False
        return True

    def close(self) -> None:
        """End the threads; the store stays open. A tenant leaves them to the Workbell that it came from."""
        if self._owns_threads:
            self.waiter.close()
            self.threads.shut_down()


class HasRuntime(Protocol):
    """A part of a client."""

    @property
    def _runtime(self) -> Runtime: ...


H = TypeVar("H", bound=HasRuntime)


def in_thread(verb: Callable[Concatenate[H, P], T]) -> Callable[Concatenate[H, P], Coroutine[Any, Any, T]]:
    """The async twin of a verb, with its parameters and docstring: `aget = in_thread(get)` in a class."""
    name = verb.__name__

    @functools.wraps(verb)
    async def twin(self: H, /, *args: P.args, **kwargs: P.kwargs) -> T:
        plain: Callable[P, T] = getattr(self, name)  # found when it is called: a test may have replaced the verb
        return await self._runtime.hop(plain, *args, **kwargs)

    twin.__name__ = f"a{name.strip('_')}"
    twin.__qualname__ = f"{verb.__qualname__.removesuffix(name)}{twin.__name__}"
    return twin


def source_of(project: str) -> str:
    """The default source of the events of a project; never Workbell's own."""
    source = f"/{project}"
    return source if source != SYSTEM_SOURCE else f"{source}/app"


async def _run_on(pool: ThreadPoolExecutor, call: Callable[[], T]) -> T:
    import asyncio  # an eighth of what a program without async code would load

    here = contextvars.copy_context()  # also there it is known which run's handler this is
    return await asyncio.shield(asyncio.get_running_loop().run_in_executor(pool, here.run, call))


def _checked(tenant: str) -> str:
    if tenant == EVERY_TENANT:
        raise InvalidOption("tenant: `*` stands for all tenants, and none can be called so; choose another name.")
    return name("tenant", tenant)

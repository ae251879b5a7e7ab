"""The services of jobs and contexts, made from a runtime: enqueue, emit and notify for one tenant."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from workbell.events.emitting import Emitter
from workbell.handlers.resources import Resources
from workbell.notices.notifications import Notifier
from workbell.runs.enqueuing import Enqueuing
from workbell.runs.runtime import Runtime
from workbell.stores.port import Store

T = TypeVar("T")


class RuntimeServices:
    """`JobServices` of a runtime. Its verbs are those of its parts, without a call in between."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.enqueuing = Enqueuing(runtime)
        self.emitter = Emitter(runtime)
        self.notifier = Notifier(runtime)
        self.request, self.write, self.awrite = self.enqueuing.request, self.enqueuing.write, self.enqueuing.awrite
        self.emit, self.aemit = self.emitter.emit, self.emitter.aemit
        self.notify, self.anotify = self.notifier.notify, self.notifier.anotify
        self.broadcast, self.abroadcast = self.notifier.broadcast, self.notifier.abroadcast
        self.ready = runtime.ready

    @property
    def tenant(self) -> str:
        return self.runtime.tenant

    @property
    def store(self) -> Store:
        return self.runtime.store

    @property
    def resources(self) -> Resources:
        return self.runtime.registry.resources

    def for_tenant(self, tenant: str) -> RuntimeServices:
        return RuntimeServices(self.runtime.for_tenant(tenant))

    async def hop(self, call: Callable[[], T]) -> T:
        return await self.runtime.hop(call)

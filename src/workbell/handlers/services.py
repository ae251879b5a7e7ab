"""Services of a process for job functions and contexts of handlers, for one tenant: enqueue, emit, notify, files."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Protocol, TypeVar, Unpack

from workbell.handlers.resources import Resources
from workbell.model.event import Event
from workbell.model.notification import Notification
from workbell.model.request import EnqueueOptions, Request
from workbell.model.run import Run
from workbell.model.users import UserId
from workbell.stores.port import Store

T = TypeVar("T")


class JobServices(Protocol):
    """The verbs that handlers and jobs call. The parameters of `emit` are those of `Context.emit`."""

    @property
    def tenant(self) -> str: ...

    @property
    def store(self) -> Store: ...

    @property
    def resources(self) -> Resources: ...

    def for_tenant(self, tenant: str) -> JobServices: ...

    async def ready(self) -> None: ...

    async def hop(self, call: Callable[[], T]) -> T: ...

    def request(self, job: Any, input: dict[str, Any] | None = None, **options: Unpack[EnqueueOptions]) -> Request: ...

    def write(self, requests: Sequence[Request]) -> list[Run]: ...

    async def awrite(self, requests: Sequence[Request]) -> list[Run]: ...

    @property
    def emit(self) -> Callable[..., Event]: ...

    @property
    def aemit(self) -> Callable[..., Coroutine[Any, Any, Event]]: ...

    def notify(self, user_id: UserId, data: Any) -> Notification: ...

    async def anotify(self, user_id: UserId, data: Any) -> Notification: ...

    def broadcast(self, data: Any) -> Notification: ...

    async def abroadcast(self, data: Any) -> Notification: ...

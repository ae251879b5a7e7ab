"""The HTTP service of a Workbell in a thread of its own, and clients of its WebSocket."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeVar

from websockets.asyncio.client import ClientConnection, connect

from workbell import Workbell
from workbell.http.binding import bind
from workbell.http.policies.access_watch import AuthHook
from workbell.http.server import Listening
from workbell.http.service import Service
from workbell.model.access import TokenKind

T = TypeVar("T")

DEADLINE = 30.0


class Served:
    """A server that listens."""

    def __init__(self, bell: Workbell, listening: Listening, loop: asyncio.AbstractEventLoop) -> None:
        self.bell = bell
        self.service: Service = listening.service
        self.host = f"127.0.0.1:{listening.port}"
        self.url = f"http://{self.host}"
        self.server = listening.server
        self._listening = listening
        self._loop = loop

    def stop(self) -> None:
        self._do(self._listening.stop())

    @contextmanager
    def working(self) -> Iterator[None]:
        """With a worker in the same process, for as long as the block lasts."""
        running = self.bell.running()
        self._do(running.__aenter__())
        try:
            yield
        finally:
            self._do(running.__aexit__(None, None, None))

    def call(self, function: Callable[..., T], *args: Any) -> T:
        """Call something on the server's event loop, and have what it returns."""

        async def called() -> T:
            return function(*args)

        found: T = self._do(called())
        return found

    def _do(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(DEADLINE)

    def ticket(self, user_id: int | str | None = None, *, tenant: str | None = None, **options: Any) -> str:
        """A ticket that has no token behind it."""
        options = {"scopes": ["read"], "expires": DEADLINE} | options
        return self.bell.tokens.create(user_id=user_id, tenant=tenant, kind=TokenKind.TICKET, **options).text

    @asynccontextmanager
    async def client(self, user_id: int | str | None = None, **options: Any) -> AsyncIterator[Talk]:
        """One that is connected, and has been told so."""
        async with self.open(self.ticket(user_id, **options)) as talk:
            assert await talk.hear() == {"type": "connected"}
            yield talk

    @asynccontextmanager
    async def open(self, ticket: str, **options: Any) -> AsyncIterator[Talk]:
        async with self.connect(f"?ticket={ticket}", **options) as talk:
            yield talk

    @asynccontextmanager
    async def connect(self, query: str = "", **options: Any) -> AsyncIterator[Talk]:
        async with connect(
            f"ws://{self.host}/ws{query}",
            open_timeout=DEADLINE,
            compression=None,
            proxy=None,
            max_size=None,
            max_queue=None,
            **options,
        ) as socket:
            yield Talk(socket)


class Talk:
    """The client's end."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket

    async def say(self, **message: Any) -> None:
        await self.socket.send(json.dumps(message))

    async def hear(self) -> Any:
        async with asyncio.timeout(DEADLINE):
            return json.loads(await self.socket.recv())

    async def hear_all(self) -> None:
        """Until the connection ends."""
        while True:
            await self.hear()

    async def hear_of(self, name: str) -> Any:
        """The next changes of a subscription."""
        heard = await self.hear()
        assert (heard["type"], heard.get("id")) == ("changes", name), heard
        return heard

    async def subscribe(self, topic: str, name: str = "a", **filter_words: Any) -> Any:
        """The first changes."""
        await self.say(type="subscribe", id=name, topic=topic, **filter_words)
        assert await self.hear() == {"type": "subscribed", "id": name}
        return await self.hear_of(name)


@contextmanager
def served(bell: Workbell, auth: AuthHook | None = None) -> Iterator[Served]:
    """Serve a Workbell until the block ends."""
    bell.store.check()
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="served", daemon=True)
    thread.start()

    async def start() -> Listening:
        service = Service(bell, bell.settings, bell.host.bus, bell.engine, bell.one_shot, auth=auth, listen="127.0.0.1")
        listening = Listening(service, bind(bell.settings))
        await listening.start()
        return listening

    try:
        listening = asyncio.run_coroutine_threadsafe(start(), loop).result(DEADLINE)
        made = Served(bell, listening, loop)
        try:
            yield made
        finally:
            made.stop()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(DEADLINE)
        loop.close()

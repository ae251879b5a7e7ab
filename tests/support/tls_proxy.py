"""A proxy that does TLS in front of a service, as stunnel would: it passes bytes on, and says nothing of its own."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator

from tests.support.certificates import Authority

DEADLINE = 30.0


class TlsProxy:
    """Listens on 127.0.0.1; `backend` is the port that connections are passed on to."""

    def __init__(self) -> None:
        self.port = self.backend = 0

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    async def start(self) -> asyncio.Server:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=Authority().serving("127.0.0.1"))
        self.port = server.sockets[0].getsockname()[1]
        return server

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer):
            inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", self.backend)
            with contextlib.closing(inner_writer):
                both = (_pass_on(reader, inner_writer), _pass_on(inner_reader, writer))
                ends = [asyncio.ensure_future(one) for one in both]
                await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
                for one in ends:
                    one.cancel()


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()


@contextlib.contextmanager
def tls_proxy() -> Iterator[TlsProxy]:
    """A proxy until the block ends."""
    proxy, loop = TlsProxy(), asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="tls-proxy", daemon=True)
    thread.start()
    server = asyncio.run_coroutine_threadsafe(proxy.start(), loop).result(DEADLINE)

    async def end() -> None:
        server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    try:
        yield proxy
    finally:
        asyncio.run_coroutine_threadsafe(end(), loop).result(DEADLINE)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(DEADLINE)
        loop.close()

"""Enqueue over HTTP against a Starlette route that does nothing, and bulk against bulk in process, in one run.

Two servers of the same kind in processes of their own; one client process keeps so many requests in the air. The
rounds alternate, because machines are noisy; what counts is the ratio.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import socket
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROUNDS = int(os.environ.get("ROUNDS", "5"))
SECONDS = float(os.environ.get("SECONDS", "2"))
IN_THE_AIR = 64  # the service takes no more than 100 connections of one address
BATCH = 1000
PAGE_MS = 50  # of CPU, for the OpenAPI page on a warm interpreter
BODY = b'{"job":"work","input":{"to":"a@b.c"}}'


def serve_noop(port: int) -> None:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    async def noop(_request: Request) -> JSONResponse:
        return JSONResponse({"status": "ok"})

    app = Starlette(routes=[Route("/noop", noop, methods=["POST"])])
    uvicorn.run(app, port=port, log_level="error", access_log=False)


def serve_workbell(port: int, url: str, told: Any) -> None:
    from workbell import Workbell
    from workbell.engine.role import Role
    from workbell.http.binding import bind
    from workbell.settings import Settings

    log = os.environ.get("HTTP_LOG", "problems")
    bell = Workbell(settings=Settings(url=url, http_port=port, http_log=log))

    @bell.job
    def work(to: str) -> None: ...

    told.send(bell.tokens.create(scopes=["enqueue"]).text)
    asyncio.run(bell.host.serve(Role(schedules=True, works=False), http=bind(bell.settings)))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def ask(port: int, path: str, token: str, body: bytes, seconds: float, width: int) -> float:
    """Requests a second, over connections that stay open; by hand, so that not the client is measured."""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode()
    message = head + body
    end = time.perf_counter() + seconds
    done = 0

    async def one() -> None:
        nonlocal done
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while time.perf_counter() < end:
            writer.write(message)
            answer = await reader.readuntil(b"\r\n\r\n")
            assert answer.startswith((b"HTTP/1.1 200", b"HTTP/1.1 201")), answer
            length = int(answer.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            await reader.readexactly(length)
            done += 1
        writer.close()

    began = time.perf_counter()
    await asyncio.gather(*(one() for _ in range(width)))
    return done / (time.perf_counter() - began)


def in_process(url: str) -> float:
    """Runs a second of `enqueue_many` in this process."""
    from workbell import Workbell
    from workbell.settings import Settings

    with Workbell(settings=Settings(url=url)) as bell:

        @bell.job
        def work(to: str) -> None: ...

        bell.enqueue_many([("work", {"to": "a@b.c"})])
        began, done = time.perf_counter(), 0
        while time.perf_counter() - began < SECONDS:
            bell.enqueue_many([("work", {"to": "a@b.c"})] * BATCH)
            done += BATCH
        return done / (time.perf_counter() - began)


async def wait_for(port: int, path: str, token: str, body: bytes) -> None:
    """Until it answers: the sockets listen before the programs behind them have loaded."""
    for _ in range(200):
        try:
            await ask(port, path, token, body, 0.2, 4)
            return
        except OSError:
            await asyncio.sleep(0.05)
    raise SystemExit(f"nothing answers on {port}")


def measure(name: str, url: str) -> None:
    context = multiprocessing.get_context("spawn")
    noop_port, port = free_port(), free_port()
    hears, tells = context.Pipe()
    servers = [
        context.Process(target=serve_noop, args=[noop_port]),
        context.Process(target=serve_workbell, args=[port, url, tells]),
    ]
    for server in servers:
        server.start()
    try:
        token = hears.recv()
        asyncio.run(wait_for(noop_port, "/noop", token, b"{}"))
        asyncio.run(wait_for(port, "/api/v1/runs", token, BODY))
        batch = b'{"runs":[' + b",".join([BODY] * BATCH) + b"]}"
        found: dict[str, list[float]] = {"noop": [], "enqueue": [], "bulk": [], "in process": []}
        for _ in range(ROUNDS):
            found["noop"].append(asyncio.run(ask(noop_port, "/noop", token, b"{}", SECONDS, IN_THE_AIR)))
            found["enqueue"].append(asyncio.run(ask(port, "/api/v1/runs", token, BODY, SECONDS, IN_THE_AIR)))
            found["bulk"].append(BATCH * asyncio.run(ask(port, "/api/v1/runs/batch", token, batch, SECONDS, 4)))
            found["in process"].append(in_process(url))
    finally:
        for server in servers:
            server.kill()
            server.join()
    middle = {what: statistics.median(values) for what, values in found.items()}
    single = [e / n for e, n in zip(found["enqueue"], found["noop"], strict=True)]
    bulk = [b / p for b, p in zip(found["bulk"], found["in process"], strict=True)]
    print(f"{name}: no-op route {middle['noop']:,.0f}/s, enqueue {middle['enqueue']:,.0f}/s")
    print(f"  enqueue / no-op: median {statistics.median(single):.0%} ({min(single):.0%} to {max(single):.0%})")
    print(f"  bulk {middle['bulk']:,.0f} runs/s, in process {middle['in process']:,.0f} runs/s")
    print(f"  bulk / in process: median {statistics.median(bulk):.0%} ({min(bulk):.0%} to {max(bulk):.0%})", flush=True)


def measure_page() -> None:
    """Time and size of the OpenAPI page, which is made once in a process; later, annotations are known."""
    from workbell.wire.openapi import openapi

    times = []
    for _ in range(ROUNDS + 1):
        start = time.process_time()
        page = openapi()
        times.append((time.process_time() - start) * 1000)
    later = statistics.median(times[1:])
    size = len(json.dumps(page, ensure_ascii=False, separators=(",", ":")).encode())
    print(
        f"OpenAPI page: {size / 1000:.0f} kB, {times[0]:.0f} ms of CPU the first time, then {later:.0f} ms", flush=True
    )
    if later > PAGE_MS:
        sys.exit(f"The OpenAPI page takes more than {PAGE_MS} ms.")


def main() -> None:
    measure_page()
    with tempfile.TemporaryDirectory() as folder:
        measure("SQLite", f"sqlite:///{Path(folder) / 'bench.db'}")
    if "--sqlite" in sys.argv:
        return
    sys.path.insert(0, str(Path(__file__).parent.parent))
    from tests.support.postgres import PostgresServer

    server = PostgresServer().start()
    try:
        measure("PostgreSQL", server.create_database())
    finally:
        server.remove()


if __name__ == "__main__":
    main()

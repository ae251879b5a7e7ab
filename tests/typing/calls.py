"""Right and wrong uses of the public names. Never run: type checkers read it, see test_types.py.

A line that ends in a comment `error` must be reported, and no other.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Coroutine, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, assert_type

import workbell
from workbell import Attempt, Cancel, Context, Event, Pause, Request, Retry, Run, Snooze, Status, Workbell

bell = Workbell("memory://")


@bell.job
def send(to: str, copies: int = 1) -> str:
    return to * copies


@bell.job(queue="mail", retry=Retry(attempts=5, delay=1, factor=2, cap=60), timeout=30)
def send_with_context(ctx: Context, to: str) -> int:
    assert_type(ctx.run, Run)
    return len(to)


@bell.job
async def fetch(url: str) -> bytes:
    return url.encode()


@bell.job(name="other")
async def fetch_with_context(ctx: Context, url: str, *, tries: int = 3) -> bytes | Snooze | Cancel:
    return Snooze(60) if ctx.canceled else url.encode()


@bell.job
def nothing() -> None: ...


@bell.job
def only_context(ctx: Context) -> None: ...


@bell.on("posts.*", queue="mail", retry=Retry(attempts=2), isolate="process")
def hears(ctx: Context, event: Event) -> int:
    assert_type(ctx.event, Event | None)
    assert_type(ctx.emit("mail.sent", {"to": "a"}, key="k"), Event)
    return len(event.type)


@bell.on("posts.*")
@bell.on("users.*")
async def hears_async(event: Event) -> str:
    return event.type


@bell.on("orders.*")
@bell.processor("counts", description="Counts.")
def counts(event: Event) -> dict[str, Any] | None: ...


@bell.around_run
def traced(ctx: Context) -> Iterator[None]:
    yield


@bell.around_run(only="async")
async def session() -> AsyncIterator[None]:
    yield


@bell.on_worker_start
def connect() -> None: ...


def wrong_hooks() -> None:
    bell.around_run(nothing)  # error
    bell.around_run(only="threads")  # error
    bell.on_worker_start(traced)  # error


async def right_events(event: Event) -> None:
    assert_type(hears(event), int)
    assert_type(await hears_async(event), str)
    assert_type(counts(event), dict[str, Any] | None)
    assert_type(bell.emit("posts.created", {"id": 7}, subject="s"), Event)
    assert_type(await bell.aemit("posts.created"), Event)


def wrong_events() -> None:
    bell.on()  # error
    bell.on(["posts.*"])  # error
    bell.on("posts.*", quue="mail")  # error
    bell.on("posts.*", retry="3")  # error
    bell.processor()  # error
    bell.emit()  # error


def right() -> None:
    assert_type(send("a"), str)
    assert_type(send("a", copies=2), str)
    assert_type(send_with_context("a"), int)
    assert_type(send_with_context(to="a"), int)
    assert_type(send.enqueue("a"), Run)
    assert_type(send.enqueue("a", 2), Run)
    assert_type(send.enqueue(to="a", copies=2), Run)
    assert_type(send_with_context.enqueue(to="a"), Run)
    assert_type(nothing.enqueue(), Run)
    assert_type(only_context.enqueue(), Run)
    assert_type(send.request("a"), Request)
    assert_type(send.options(delay=60, key="k").enqueue(to="a"), Run)
    send.options(
        run_at=datetime.now(UTC), expires=timedelta(hours=1), tag="t", priority=5, queue="q", tenant="t", user_id=1,
        target="a", retry=Retry(), timeout=5, persistent=False, auto_reschedule=60, remove_delay=3600, connection=None,
        on_duplicate="reject", key_for=60, replace_tag=True,
    ).enqueue("a")  # fmt: skip
    assert_type(bell.enqueue("send", {"to": "a"}, delay=60), Run)
    assert_type(bell.enqueue_many([send.request("a"), ("send", {"to": "b"})]), list[Run])
    assert_type(bell.enqueue_many(send.options(tag="t").request(to) for to in "abc"), list[Run])
    assert_type(bell.get("id").status, Status)
    assert_type(bell.runs(status="failed", limit=5), list[Run])
    assert_type(bell.attempts("id"), list[Attempt])
    assert_type(bell.wait("id", timeout=5), Run)
    assert_type(bell.why("id"), str)
    assert_type(bell.retry("id"), Run)
    assert_type(bell.cancel("id", "reason"), Run)
    assert_type(bell.pause(queue="mail"), Pause)
    assert_type(bell.resume(queue="mail"), int)


async def right_async() -> None:
    called: Coroutine[Any, Any, bytes] = fetch("u")
    assert_type(await called, bytes)
    assert_type(await fetch("u"), bytes)
    assert_type(await fetch_with_context("u", tries=5), bytes | Snooze | Cancel)
    assert_type(await fetch.aenqueue("u"), Run)
    assert_type(await fetch_with_context.aenqueue("u", tries=5), Run)
    assert_type(fetch.enqueue("u"), Run)
    assert_type(await send.options(delay=timedelta(seconds=5)).aenqueue("a"), Run)
    assert_type(await bell.aenqueue("send", {"to": "a"}), Run)
    assert_type(await bell.aget("id"), Run)
    assert_type(await bell.await_("id", timeout=5), Run)
    async with bell.running(queues=["mail"]) as running:
        assert_type(running, Workbell)


def wrong() -> None:
    send()  # error
    send(5)  # error
    send.enqueue()  # error
    send.enqueue(5)  # error
    send.enqueue(too="a")  # error
    send.enqueue("a", copies="2")  # error
    send.enqueue("a", 1, 2)  # error
    send.request(5)  # error
    send.options(delay=5).enqueue(5)  # error
    send.options(dealy=5)  # error
    send.options(delay="5")  # error
    send.options(key=5)  # error
    send.options(retry="3")  # error
    send_with_context.enqueue(ctx=None, to="a")  # error
    send_with_context.enqueue()  # error
    nothing.enqueue(1)  # error
    only_context.enqueue(1)  # error
    bell.enqueue("send", ["a"])  # error
    bell.enqueue("send", {"to": "a"}, dealy=60)  # error
    bell.job(quue="mail")  # error
    bell.runs(limit="5")  # error
    bell.get(5)  # error
    Retry(attempts="5")  # error
    print(workbell.Wrokbell)  # error


async def wrong_async() -> None:
    await fetch.aenqueue()  # error
    await fetch.aenqueue(url=5)  # error
    await fetch_with_context.aenqueue("u", 5)  # error
    await fetch_with_context.aenqueue("u", tries="5")  # error
    await send("a")  # error
    number: int = await fetch("u")  # error
    print(number)

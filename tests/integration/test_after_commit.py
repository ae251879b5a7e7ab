"""`bell.after_commit`: runs of data in another database are made after its commit, and not at all after a rollback."""

from __future__ import annotations

import asyncio
import gc
import logging
import sqlite3
import weakref
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, transaction
from sqlalchemy import create_engine, text
from sqlalchemy.ext.asyncio import AsyncSession, async_scoped_session, async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, scoped_session, sessionmaker
from sqlalchemy.pool import NullPool

from tests.support.django_site import database, databases
from tests.support.inside.features import Work, register
from tests.support.inside.values import Settings
from workbell import InvalidOption, Workbell, WrongConnection


class Oops(Exception):
    """The caller's own failure."""


class Base(DeclarativeBase):
    """Tables of the caller."""


class Order(Base):
    __tablename__ = "orders"
    id: Mapped[int] = mapped_column(primary_key=True)


@pytest.fixture
def bell() -> Iterator[Workbell]:
    with Workbell(settings=Settings(url="memory://")) as made:
        made.job(name="send")(lambda to: None)
        yield made


@pytest.fixture
def elsewhere(tmp_path: Path) -> str:
    """A database that is not the store's."""
    path = tmp_path / "orders.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE orders (id integer)")
    return str(path)


@pytest.fixture
def sessions(elsewhere: str) -> sessionmaker[Session]:
    return sessionmaker(create_engine(f"sqlite:///{elsewhere}", poolclass=NullPool))


@pytest.fixture
def async_sessions(elsewhere: str) -> async_sessionmaker[AsyncSession]:
    return async_sessionmaker(create_async_engine(f"sqlite+aiosqlite:///{elsewhere}", poolclass=NullPool))


INSERT = text("INSERT INTO orders VALUES (1)")


def made(bell: Workbell) -> list[str]:
    """Of all runs, to whom they are, oldest first."""
    return [run.input["to"] for run in bell.runs()][::-1]


def send(bell: Workbell, session: Any, to: str) -> None:
    bell.after_commit(session, bell.request("send", {"to": to}))


def test_a_commit_enqueues_and_a_rollback_drops(bell: Workbell, sessions: sessionmaker[Session]) -> None:
    with sessions() as session:
        session.add(Order(id=1))  # begins a transaction
        send(bell, session, "first")
        session.execute(INSERT)
        send(bell, session, "second")
        assert made(bell) == []
        session.commit()
        assert made(bell) == ["first", "second"]
        session.execute(INSERT)
        send(bell, session, "lost")
        session.rollback()
        session.execute(INSERT)
        session.commit()
        session.execute(INSERT)
        send(bell, session, "lost too")
    assert made(bell) == ["first", "second"]


NO_TRANSACTION = r"Session has not begun a transaction.*with session\.begin\(\):"


def test_a_session_without_a_transaction_is_refused(bell: Workbell, sessions: sessionmaker[Session]) -> None:
    """No rollback would drop the work, and the next commit, of something else, would do it."""
    scoped = scoped_session(sessions)
    for session in (sessions(), scoped):
        with pytest.raises(WrongConnection, match=NO_TRANSACTION):
            send(bell, session, "lost")
        session.rollback()
        session.execute(INSERT)
        session.commit()
        with pytest.raises(WrongConnection, match=NO_TRANSACTION):
            send(bell, session, "lost after a commit")
        session.close()
    assert made(bell) == []


@pytest.mark.anyio
async def test_an_async_session_without_a_transaction_is_refused(
    bell: Workbell, async_sessions: async_sessionmaker[AsyncSession]
) -> None:
    async with async_sessions() as session:
        with pytest.raises(WrongConnection, match=NO_TRANSACTION):
            send(bell, session, "lost")
        await session.rollback()
        await session.execute(INSERT)
        await session.commit()
    assert made(bell) == []


def test_savepoints_drop_what_was_registered_inside(bell: Workbell, sessions: sessionmaker[Session]) -> None:
    with sessions.begin() as session:
        send(bell, session, "outer")
        with pytest.raises(Oops), session.begin_nested():  # noqa: PT012
            send(bell, session, "lost")
            with session.begin_nested():
                send(bell, session, "released, then lost")
            session.execute(INSERT)
            session.flush()
            raise Oops
        with session.begin_nested():
            send(bell, session, "kept")
            with pytest.raises(Oops), session.begin_nested():  # noqa: PT012
                send(bell, session, "lost inside")
                raise Oops
        send(bell, session, "last")
        assert made(bell) == []
    assert made(bell) == ["outer", "kept", "last"]


def test_a_commit_over_an_open_savepoint_keeps_it(bell: Workbell, sessions: sessionmaker[Session]) -> None:
    with sessions() as session:
        session.begin_nested()
        send(bell, session, "kept")
        session.commit()
    assert made(bell) == ["kept"]


def test_a_scoped_session_and_a_function(bell: Workbell, sessions: sessionmaker[Session]) -> None:
    session = scoped_session(sessions)
    seen: list[int] = []

    def look() -> None:
        """The transaction has ended: the session can be used again."""
        seen.append(session.execute(text("SELECT count(*) FROM orders")).scalar_one())

    session.execute(INSERT)
    bell.after_commit(session, look)
    session.commit()
    session.remove()
    assert seen == [1]


def test_an_error_is_logged_and_the_commit_stands(
    bell: Workbell, sessions: sessionmaker[Session], caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> None:
        raise Oops("the store is away")

    with caplog.at_level(logging.ERROR), sessions.begin() as session:
        session.execute(INSERT)
        bell.after_commit(session, fail)
        bell.after_commit(session, lambda: bell.aenqueue("send", {"to": "a"}))
        send(bell, session, "kept")
    first, second = caplog.records
    assert "fail has failed, and the transaction before it is committed: the store is away." in first.message
    assert first.exc_info is not None
    assert "it is async, and the transaction is not" in second.message
    assert made(bell) == ["kept"]
    with sessions() as session:
        assert session.execute(text("SELECT count(*) FROM orders")).scalar_one() == 1


def test_an_interrupt_does_not_drop_the_work_after_it(
    bell: Workbell, sessions: sessionmaker[Session], caplog: pytest.LogCaptureFixture
) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    def exits() -> None:
        raise SystemExit(3)

    with sessions() as session:
        session.execute(INSERT)
        bell.after_commit(session, interrupted)
        bell.after_commit(session, exits)
        send(bell, session, "kept")
        with pytest.raises(KeyboardInterrupt):
            session.commit()
        assert made(bell) == ["kept"]
        assert session.execute(text("SELECT count(*) FROM orders")).scalar_one() == 1
    first, second = caplog.records
    assert "interrupted may or may not have been done" in first.message
    assert "Check before you do it by hand." in first.message
    assert "exits may or may not have been done" in second.message


def test_a_session_in_its_block_is_closed_to_the_function(
    bell: Workbell, sessions: sessionmaker[Session], caplog: pytest.LogCaptureFixture
) -> None:
    with sessions.begin() as session:
        order = Order(id=7)
        session.add(order)
        bell.after_commit(session, lambda: send(bell, session, str(order.id)))
    (record,) = caplog.records
    assert "Can't operate on closed transaction" in record.message
    assert "The session cannot be used in the function: read what it needs before the commit." in record.message


def test_a_session_that_is_gone_is_forgotten(bell: Workbell, sessions: sessionmaker[Session]) -> None:
    session = sessions()
    session.begin()
    send(bell, session, "lost")
    session.close()
    known = weakref.ref(session)
    del session
    gc.collect()
    assert known() is None
    assert made(bell) == []


@pytest.mark.anyio
async def test_async_sessions(bell: Workbell, async_sessions: async_sessionmaker[AsyncSession]) -> None:
    async with async_sessions() as session:
        await session.execute(INSERT)
        send(bell, session, "first")
        bell.after_commit(session, lambda: bell.aenqueue("send", {"to": "second"}))
        with pytest.raises(Oops):  # noqa: PT012
            async with session.begin_nested():
                send(bell, session, "lost")
                raise Oops
        assert made(bell) == []
        await session.commit()
        assert made(bell) == ["first", "second"]
        await session.execute(INSERT)
        send(bell, session, "lost")
        await session.rollback()
    scoped = async_scoped_session(async_sessions, scopefunc=lambda: 1)
    await scoped.execute(INSERT)
    send(bell, scoped, "third")
    await scoped.commit()
    await scoped.remove()
    assert made(bell) == ["first", "second", "third"]


@pytest.mark.anyio
async def test_an_error_in_an_async_session_is_logged(
    bell: Workbell, async_sessions: async_sessionmaker[AsyncSession], caplog: pytest.LogCaptureFixture
) -> None:
    async def fail() -> None:
        raise Oops("the store is away")

    with caplog.at_level(logging.ERROR):
        async with async_sessions.begin() as session:
            await session.execute(INSERT)
            bell.after_commit(session, fail)
    assert "fail has failed" in caplog.text


class Held:
    """A write that has begun, and waits until it may go on."""

    def __init__(self) -> None:
        self._begun, self._released = asyncio.Event(), asyncio.Event()

    async def wait(self) -> None:
        self._begun.set()
        await self._released.wait()

    async def cancel(self, work: Coroutine[Any, Any, None]) -> None:
        """Cancel a commit while the write after it is held, then let that end."""
        task = asyncio.create_task(work)
        await self._begun.wait()
        task.cancel()
        self._released.set()
        with pytest.raises(asyncio.CancelledError):
            await task


@pytest.mark.anyio
async def test_a_canceled_commit_waits_for_the_enqueue(
    bell: Workbell, async_sessions: async_sessionmaker[AsyncSession], caplog: pytest.LogCaptureFixture
) -> None:
    held = Held()

    async def write() -> None:
        await held.wait()
        await bell.aenqueue("send", {"to": "first"})

    async def place_order() -> None:
        async with async_sessions() as session:
            await session.execute(INSERT)
            register(session, Work("enqueuing a run of job send", write, write))
            send(bell, session, "second")
            await session.commit()  # the end of `begin()` is one that SQLAlchemy lets nobody cancel

    await held.cancel(place_order())
    assert sorted(made(bell)) == ["first", "second"]
    assert caplog.records == []


@pytest.mark.anyio
async def test_an_enqueue_that_fails_in_a_canceled_commit_is_logged(
    bell: Workbell, async_sessions: async_sessionmaker[AsyncSession], caplog: pytest.LogCaptureFixture
) -> None:
    held = Held()

    async def write() -> None:
        await held.wait()
        raise Oops("the store is away")

    async def place_order() -> None:
        async with async_sessions() as session:
            await session.execute(INSERT)
            register(session, Work("enqueuing a run of job send", write, write))
            await session.commit()

    await held.cancel(place_order())
    (record,) = caplog.records
    assert "enqueuing a run of job send has failed" in record.message
    assert "the store is away" in record.message


def test_django(bell: Workbell, elsewhere: str, caplog: pytest.LogCaptureFixture) -> None:
    with databases(default=database(f"sqlite:///{elsewhere}")):
        with transaction.atomic():
            connection.cursor().execute("INSERT INTO orders VALUES (1)")
            send(bell, connection, "first")
            with pytest.raises(Oops), transaction.atomic():  # noqa: PT012
                send(bell, connection, "lost")
                raise Oops
            bell.after_commit(connection, lambda: 1 / 0)
            send(bell, connection, "second")
            assert made(bell) == []
        with pytest.raises(Oops), transaction.atomic():  # noqa: PT012
            send(bell, connection, "lost")
            raise Oops
        with transaction.atomic(), pytest.raises(InvalidOption, match="it is async, and the transaction is not"):
            bell.after_commit(connection, bell.aruns)
    assert made(bell) == ["first", "second"]
    assert "ZeroDivisionError" in caplog.text


def test_what_has_no_hook_is_refused_with_the_remedy(bell: Workbell, sessions: sessionmaker[Session]) -> None:
    raw = sqlite3.connect(":memory:")
    with pytest.raises(WrongConnection, match=r"sqlite3\.Connection has no hook .* call enqueue\(\) after the commit"):
        send(bell, raw, "a")
    raw.close()
    engine = sessions.kw["bind"]
    with engine.connect() as connection:
        for wrong in (engine, connection):
            with pytest.raises(WrongConnection, match=r"no event after its commit; hand in a SQLAlchemy Session"):
                send(bell, wrong, "a")


def test_what_is_no_work_is_refused(bell: Workbell, sessions: sessionmaker[Session]) -> None:
    @bell.job
    def greet(name: str) -> None: ...

    with sessions() as session:
        with pytest.raises(InvalidOption, match=r"job greet has no arguments yet; hand in greet\.request\(…\)"):
            bell.after_commit(session, greet)
        with pytest.raises(InvalidOption, match=r"expected a request, .* or a function, got Run"):
            bell.after_commit(session, greet.enqueue("Ada"))  # type: ignore[arg-type]
        with pytest.raises(InvalidOption, match="is async, and the transaction is not"):
            bell.after_commit(session, bell.aruns)


def test_a_request_with_a_connection_is_refused(tmp_path: Path, sessions: sessionmaker[Session]) -> None:
    with Workbell(f"sqlite:///{tmp_path / 'workbell.db'}") as bell, sessions() as session:
        bell.job(name="send")(lambda to: None)
        request = bell.request("send", {"to": "a"}, connection=session)
        with pytest.raises(InvalidOption, match="the request names a connection"):
            bell.after_commit(session, request)

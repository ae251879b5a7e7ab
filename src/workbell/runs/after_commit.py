"""Work after a commit: `bell.after_commit`, for data in another database than the store.

SQLAlchemy's sessions and Django's connections have hooks for that; a driver's own connection, and a `Connection` of
SQLAlchemy, have none. The work waits in the memory of this process: what is registered in a transaction, or since a
savepoint, that is rolled back is dropped, and what waits when the process dies is lost.

An error of the work is logged and does not come out of the commit. The data is committed by then, and code that repeats
a transaction after an error would write it twice.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from workbell.errors import InvalidOption, WrongConnection
from workbell.stores.django_callers import is_django
from workbell.stores.is_a import is_a

log = logging.getLogger("workbell.runs")

IS_ASYNC = "it is async, and the transaction is not; hand in a plain function"


@dataclass(frozen=True, slots=True)
class Work:
    """A call that waits for a commit, for sync and for async code; `name` says in messages what it does."""

    name: str
    call: Callable[[], object]
    acall: Callable[[], Awaitable[object]] | None = None

    def perform(self) -> BaseException | None:
        """Do it in the thread that has committed; an interrupt, which is to be raised when all is done."""
        try:
            answer = self.call()
            if inspect.iscoroutine(answer):
                answer.close()
                raise InvalidOption(IS_ASYNC)
        except BaseException as error:  # noqa: BLE001  the rest of the work comes first
            return self._note(error)
        return None

    async def aperform(self) -> BaseException | None:
        """Do it on the event loop of an async session."""
        try:
            if self.acall is not None:
                return await self._write(self.acall())
            answer = self.call()
            if inspect.isawaitable(answer):
                await answer
        except BaseException as error:  # noqa: BLE001
            return self._note(error)
        return None

    async def _write(self, call: Awaitable[object]) -> BaseException | None:
        """Wait for the end of a write, also if the caller is canceled meanwhile: else nobody knows what came of it."""
        import asyncio

        canceled: BaseException | None = None
        writing = asyncio.ensure_future(call)
        while not writing.done():
            try:
                await asyncio.wait([writing])
            except asyncio.CancelledError as error:
                canceled = error
        failed = writing.exception()
        return canceled if failed is None else self._note(failed) or canceled

    def _note(self, error: BaseException) -> BaseException | None:
        """Log an error; the error, if it is an interrupt."""
        if isinstance(error, Exception):
            what, remedy = "has failed", "Do it again by hand."
        else:
            what, remedy = "may or may not have been done", "Check before you do it by hand."
        if is_a(error, "sqlalchemy.exc", "InvalidRequestError"):
            remedy = f"The session cannot be used in the function: read what it needs before the commit. {remedy}"
        log.error(
            "after_commit: %s %s, and the transaction before it is committed: %s. %s",
            self.name,
            what,
            str(error) or type(error).__name__,
            remedy,
            exc_info=error,
        )
        return None if isinstance(error, Exception) else error


def register(transaction: Any, work: Work) -> None:
    """Have work done after the commit of a session or connection; refuse one that has no hook for it."""
    if is_django(transaction):
        _check_plain(work)
        transaction.on_commit(lambda: _raise_first([work.perform()]))
        return
    is_async = is_a(transaction, "sqlalchemy.ext.asyncio")
    session = _sqlalchemy_session(transaction)
    if session is None:
        raise WrongConnection(_refusal(transaction))
    if not is_async:
        _check_plain(work)
    if not session.in_transaction():
        raise WrongConnection(
            "after_commit: this Session has not begun a transaction, so no rollback would drop what is registered; "
            "call it inside `with session.begin():`, or after the first statement."
        )
    if session not in _sessions:
        _sessions[session] = SessionWork(session)
    _sessions[session].add(session, work, is_async)


def _check_plain(work: Work) -> None:
    if inspect.iscoroutinefunction(work.call):
        raise InvalidOption(f"after_commit: {work.name}: {IS_ASYNC}.")


def _refusal(transaction: Any) -> str:
    kind = f"{type(transaction).__module__}.{type(transaction).__qualname__}"
    if is_a(transaction, "sqlalchemy"):
        return f"after_commit: {kind} has no event after its commit; hand in a SQLAlchemy Session or AsyncSession."
    return (
        f"after_commit: {kind} has no hook for its commit; call enqueue() after the commit, or inside the transaction "
        "with connection= if its database is the store's. A SQLAlchemy Session and Django's connection have a hook."
    )


def _sqlalchemy_session(transaction: Any) -> Any:
    """The plain Session of any of SQLAlchemy's kinds of session; None for anything else."""
    if any(is_a(transaction, "sqlalchemy", kind) for kind in ("scoped_session", "async_scoped_session")):
        transaction = transaction()
    if is_a(transaction, "sqlalchemy.ext.asyncio", "AsyncSession"):
        return transaction.sync_session
    return transaction if is_a(transaction, "sqlalchemy.orm", "Session") else None


class SessionWork:
    """Work that waits for the commit of one SQLAlchemy session, by the savepoint that it was registered in."""

    def __init__(self, session: Any) -> None:
        from sqlalchemy import event

        self._waiting: list[tuple[Any, Work, bool]] = []  # savepoint, or None; work; whether the session is async
        self._is_committed = False  # the transaction or savepoint whose end comes next
        event.listen(session, "after_commit", self._note_commit)
        event.listen(session, "after_transaction_end", self._end)

    def add(self, session: Any, work: Work, is_async: bool) -> None:
        self._waiting.append((session.get_nested_transaction(), work, is_async))

    def _note_commit(self, session: Any) -> None:
        """SQLAlchemy calls it for a savepoint that is released, too, and before the transaction has ended."""
        self._is_committed = True

    def _end(self, session: Any, transaction: Any) -> None:
        if not transaction.nested and transaction.parent is not None:
            return  # of a flush: no transaction of the database
        is_committed, self._is_committed = self._is_committed, False
        if transaction.nested:
            outer = session.get_nested_transaction()
            self._waiting = [
                (outer, *rest) if savepoint is transaction else (savepoint, *rest)
                for savepoint, *rest in self._waiting
                if is_committed or savepoint is not transaction
            ]
            return
        waiting, self._waiting = self._waiting, []
        due = [(work, is_async) for _, work, is_async in waiting if is_committed]
        _raise_first([_await(work.aperform()) if is_async else work.perform() for work, is_async in due])


_sessions: WeakKeyDictionary[Any, SessionWork] = WeakKeyDictionary()


def _raise_first(interrupts: list[BaseException | None]) -> None:
    """Let an interrupt go on, when all work is done."""
    for interrupt in interrupts:
        if interrupt is not None:
            raise interrupt


def _await(call: Awaitable[BaseException | None]) -> BaseException | None:
    """Await inside a listener of an async session, which SQLAlchemy calls in a greenlet of its own."""
    from sqlalchemy.util import await_only

    found: BaseException | None = await_only(call)
    return found

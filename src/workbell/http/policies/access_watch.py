"""Access of open requests: run streams, long waits, polls of agents and WebSockets end with the access behind them.

Each of them is registered here for as long as it is open. Every few seconds their tokens are read, by id and in one
query, and the application's hook is asked again about those that it let in.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection

from workbell.client.local import LocalClient
from workbell.errors import Forbidden, InvalidOption, Unauthorized
from workbell.model.access import EVERY_TENANT, Access, Token
from workbell.model.audit import ActorKind
from workbell.model.job import name
from workbell.model.run_settings import read_user

AuthHook = Callable[[HTTPConnection], Access | Awaitable[Access | None] | None]

RECHECK = 3.0  # seconds between two checks
PATIENCE = 10.0  # seconds for one answer of the hook
AT_ONCE = 20  # questions to the hook
REFUSALS = frozenset({401, 403})  # statuses by which a hook says no

TOKEN_ENDED = "your token is not valid any more"  # noqa: S105
SIGNED_OUT = "you are not signed in any more"
LESS_ACCESS = "your access has changed; connect again"

log = logging.getLogger("workbell.http")


class OpenAccess:
    """The access of one open request or WebSocket. `over` has the reason as soon as it has ended."""

    __slots__ = ("access", "connection", "over")

    def __init__(self, access: Access, connection: HTTPConnection) -> None:
        self.access = access
        self.connection = connection
        self.over: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def end(self, reason: str | None) -> None:
        if reason is not None and not self.over.done():
            self.over.set_result(reason)

    def check(self) -> None:
        """Raise if it has ended."""
        if self.over.done():
            raise Unauthorized(f"This was ended: {self.over.result()}.")


class AccessWatch:
    """All open requests and WebSockets whose access can end. Checks run only while there are some."""

    def __init__(self, client: LocalClient, hook: AuthHook | None) -> None:
        self._client = client
        self._hook = hook
        self._open: set[OpenAccess] = set()
        self._checking: list[asyncio.Task[None]] = []

    @contextmanager
    def watch(self, access: Access, connection: HTTPConnection) -> Iterator[OpenAccess]:
        """Check an access again and again while the block lasts."""
        one = OpenAccess(access, connection)
        self._open.add(one)
        if not self._checking:  # each by itself: a hook that hangs must not hold up the check of tokens
            self._checking = [asyncio.create_task(_again(check)) for check in (self._check_tokens, self._check_hook)]
        try:
            yield one
        finally:
            self._open.discard(one)
            if not self._open:
                for task in self._checking:
                    task.cancel()
                self._checking = []

    async def _check_tokens(self) -> None:
        opened = [one for one in self._open if one.access.token is not None]
        if not opened:
            return
        store = self._client.store
        try:
            tokens = await self._client.runtime.hop(
                store.tokens.with_ids, sorted({str(one.access.token) for one in opened})
            )
        except Exception as error:  # noqa: BLE001  a check that fails is made again: it must never be the last one
            log.warning("the tokens of open requests were not checked: %s", error)
            return
        now = store.clock.now()
        for one in opened:
            one.end(token_end(one.access, tokens, now))

    async def _check_hook(self) -> None:
        opened = [one for one in self._open if one.access.kind is ActorKind.APP]
        if self._hook is None or not opened:
            return
        turns = asyncio.Semaphore(AT_ONCE)

        async def check(hook: AuthHook, one: OpenAccess) -> None:
            async with turns:
                try:
                    async with asyncio.timeout(PATIENCE):
                        found = await ask_hook(hook, one.connection)
                    reason = hook_end(one.access, found)
                except Exception as error:  # noqa: BLE001  the application's own code; an error is not a no
                    if not says_no(error):
                        log.warning("the auth hook was not asked again: %s: %s", type(error).__name__, error)
                        return
                    reason = SIGNED_OUT
            one.end(reason)

        await asyncio.gather(*(check(self._hook, one) for one in opened))


async def _again(check: Callable[[], Awaitable[None]]) -> None:
    while True:
        await asyncio.sleep(RECHECK)
        await check()


async def ask_hook(hook: AuthHook, connection: HTTPConnection) -> Access | None:
    """The answer of the application's hook. Kind and token are ours to set.

    An answer that cannot be used is a defect of the application, and no fault of the caller.
    """
    found = hook(connection)
    access = await found if isinstance(found, Awaitable) else found
    if access is None:
        return None
    try:
        return _checked(access)
    except (InvalidOption, msgspec.ValidationError) as error:
        log.error("the auth hook %s: its answer cannot be used: %s", _name_of(hook), error)
        detail = f"The auth hook {_name_of(hook)} gave an answer that cannot be used; the server's log says why."
        raise HTTPException(500, detail) from error


def _checked(answer: object) -> Access:
    if not isinstance(answer, Access):
        raise InvalidOption(f"expected an Access or None, got {type(answer).__name__}.")
    user_id = None if answer.user_id is None else read_user(answer.user_id)
    if answer.tenant != EVERY_TENANT:
        name("tenant", answer.tenant, InvalidOption)
    ours = {"kind": ActorKind.APP, "token": None, "made_with": None}
    return msgspec.convert(msgspec.structs.asdict(answer) | {"user_id": user_id} | ours, Access)


def _name_of(hook: AuthHook) -> str:
    named = hook if hasattr(hook, "__qualname__") else type(hook)
    return f"{named.__module__}.{named.__qualname__}"


# Decisions


def token_end(access: Access, tokens: Mapping[str, Token], now: datetime) -> str | None:
    """Why an access by a token has ended; None if it goes on."""
    found = tokens.get(str(access.token))
    return None if found is not None and found.is_valid(now) else TOKEN_ENDED


def hook_end(before: Access, now: Access | None) -> str | None:
    """Why an access by the hook has ended; None if it goes on. One that allows less than before begins anew."""
    if now is None:
        return SIGNED_OUT
    if now.may_act_for(before.tenant) and all(map(now.may, before.scopes)) and now.user_id == before.user_id:
        return None
    return LESS_ACCESS


def says_no(error: Exception) -> bool:
    """Whether an exception of a hook is a refusal."""
    if isinstance(error, HTTPException):
        return error.status_code in REFUSALS
    return isinstance(error, Unauthorized | Forbidden)

"""Cache of token checks for servers: each request has a token, so answers of the store are cached for a second.

A token that is revoked here is refused at once; one that is revoked elsewhere within that second.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from datetime import timedelta
from typing import NamedTuple

from workbell.access.secret_text import hash_of, is_token
from workbell.errors import WorkbellError
from workbell.model.access import REDEEMED, Access, Token, access_of
from workbell.process.fork_safety import remake_after_fork
from workbell.runs.runtime import Runtime

CACHED_FOR = 1.0  # seconds
MOST = 10_000  # answers of each sort
NOTED = timedelta(minutes=1)  # the last use of a token is noted no more often
NOTED_SECONDS = NOTED.total_seconds()

log = logging.getLogger("workbell.access")


class TokenCheck(NamedTuple):
    """Cached answer of the store about a token, the access that it gives, and until when the answer is valid, by the
    monotonic clock."""

    token: Token | None
    access: Access | None
    until: float


NOT_VALID = TokenCheck(None, None, 0.0)


class Verified:
    """Cache of token checks, by the hashes of the texts: `bell.verified`."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self.make_process_state()
        remake_after_fork(self)

    def make_process_state(self) -> None:
        """In the beginning, and in a forked child."""
        self._lock = threading.Lock()
        # Apart, so that guesses cannot evict valid tokens.
        self._valid: OrderedDict[str, TokenCheck] = OrderedDict()
        self._invalid: OrderedDict[str, TokenCheck] = OrderedDict()
        self._forgotten = 0  # how often something was forgotten
        self._noted: OrderedDict[str, float] = OrderedDict()
        self._to_note: set[str] = set()
        self._noting = False

    def check(self, text: str) -> Token | None:
        """The token that a text is, if it is valid now."""
        key = hash_of(text)
        found = self._cached(key)
        if found is None:
            found = self._read(key) if is_token(text) else NOT_VALID
        return found.token if self._is_valid(found) else None

    async def acheck(self, text: str) -> Token | None:
        """The same; a thread is asked only where the store must be."""
        found = await self._afind(text)
        return None if found is None else found.token

    async def aaccess(self, text: str) -> Access | None:
        """The access that a text gives, if it is a token that is valid now."""
        found = await self._afind(text)
        return None if found is None else found.access

    async def _afind(self, text: str) -> TokenCheck | None:
        key = hash_of(text)
        found = self._cached(key)
        if found is None:
            found = await self._runtime.hop(self._cached_or_read, key) if is_token(text) else NOT_VALID
        return found if self._is_valid(found) else None

    def forget(self, token_id: str) -> None:
        """Remove a token from the cache. To be called after it was revoked."""
        with self._lock:
            self._forgotten += 1
            for key in [key for key, answer in self._valid.items() if answer.token and answer.token.id == token_id]:
                del self._valid[key]

    def _is_valid(self, answer: TokenCheck) -> bool:
        token = answer.token
        # Whether it is revoked was seen when it was read.
        if token is None or (token.expires_at is not None and not token.is_valid(self._runtime.store.clock.now())):
            return False
        self._note(token)
        return True

    def _cached_or_read(self, key: str) -> TokenCheck:
        """Check the cache again, on the thread: of many checks of one token at once, the first has read the store."""
        return self._cached(key) or self._read(key)

    def _cached(self, key: str) -> TokenCheck | None:
        now = self._runtime.store.clock.monotonic()
        with self._lock:
            answer = self._valid.get(key) or self._invalid.get(key)
        return answer if answer is not None and now < answer.until else None

    def _read(self, key: str) -> TokenCheck:
        store, before = self._runtime.store, self._forgotten
        until = store.clock.monotonic() + CACHED_FOR  # from before it is read: a revocation may come right after
        found = store.tokens.find(key)
        if found is not None and (found.kind in REDEEMED or not found.is_valid(store.clock.now())):
            found = None
        answer = TokenCheck(found, None if found is None else access_of(found), until)
        with self._lock:
            # A token that was revoked during the read may be this one.
            if before == self._forgotten:
                self._invalid.pop(key, None)
                self._valid.pop(key, None)
                cache = self._invalid if found is None else self._valid
                cache[key] = answer
                if len(cache) > MOST:
                    cache.popitem(last=False)
        return answer

    # The last use

    def _note(self, token: Token) -> None:
        """Write the last use of a token, on another thread; uses that come during a write go into one batch."""
        clock = self._runtime.store.clock
        now = clock.monotonic()
        last = self._noted.get(token.id)
        if last is not None and now - last < NOTED_SECONDS:
            return
        with self._lock:
            self._noted[token.id] = now
            self._noted.move_to_end(token.id)
            if len(self._noted) > MOST:
                self._noted.popitem(last=False)
            if token.last_used_at is not None and clock.now() - token.last_used_at < NOTED:
                return  # another process has noted it
            self._to_note.add(token.id)
            if self._noting:
                return
            self._noting = True
        if not self._runtime.in_background(self._write_noted):
            self._noting = False

    def _write_noted(self) -> None:
        try:
            while ids := self._taken():
                self._runtime.store.tokens.see(ids, self._runtime.store.clock.now())
        except BaseException as error:
            self._noting = False
            if not isinstance(error, WorkbellError):
                raise
            log.warning("the last use of tokens could not be noted: %s", error)

    def _taken(self) -> list[str]:
        with self._lock:
            ids, self._to_note = sorted(self._to_note), set()
            self._noting = bool(ids)
            return ids

"""Connection limits of the server: in all, unauthenticated, and unauthenticated from one address.

A stranger is a connection on which no request with a valid token has come yet. Where there are too many of them, the
one that has been waiting longest is closed and the new one is served: whoever holds connections open cannot keep
others out, and an honest client, which sends its request at once, is never the one that waits longest.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Protocol

from uvicorn.server import ServerState

from workbell.http.policies.open_limits import most_connections
from workbell.logs.rate_limit import RateLimitedMessage
from workbell.model.client_address import TrustedProxies, network_of

log = logging.getLogger("workbell.http")

STRANGERS = 1000  # connections without a valid token, in all: each may hold about 100 KB
STRANGERS_OF_ADDRESS = 100
NO_PROXIES = TrustedProxies()


class Guest(Protocol):
    """A connection, as the bounds see it."""

    home: str | None  # the network it comes from; none for a trusted proxy, which stands for many clients

    @property
    def is_known(self) -> bool:
        """Whether it has brought a valid token."""

    @property
    def is_waiting(self) -> bool:
        """Whether the client has something to send before anything is answered."""

    def cut(self) -> None:
        """Close it now."""

    def refuse(self) -> None:
        """Answer that there are too many connections, and close it."""


class Edge(ServerState):
    """The connections of one server, which uvicorn's protocols share through this object."""

    def __init__(self, most: int | None = None, proxies: TrustedProxies = NO_PROXIES) -> None:
        super().__init__()
        self._proxies = proxies
        self.most = most_connections() if most is None else most
        self._strangers: dict[Guest, None] = {}  # in the order in which they came
        self._of_homes: dict[str | None, dict[Guest, None]] = {}
        self.slow = RateLimitedMessage(
            log, logging.INFO, "a connection was closed: its client sent or took nothing for too long"
        )
        self._crowded = RateLimitedMessage(
            log, logging.WARNING, "there are too many connections without a valid token; the oldest one was closed"
        )
        self._full = RateLimitedMessage(
            log,
            logging.WARNING,
            f"a connection was refused: there are {self.most:,}, all in use; a higher limit of open files "
            "(ulimit -n, LimitNOFILE) allows more",
        )

    def home_of(self, address: str | None) -> str | None:
        """The network that connections from an address are counted by."""
        return None if self._proxies.trusts(address) else network_of(address)

    def enter(self, guest: Guest, now: float) -> None:
        """Count a new connection as unauthenticated, and enforce the limits."""
        own = self._of_homes.setdefault(guest.home, {})
        own[guest] = self._strangers[guest] = None
        if guest.home is not None:
            self._make_room(own, guest, now, lambda: len(own) > STRANGERS_OF_ADDRESS)
        self._make_room(self._strangers, guest, now, self._is_full)

    def leave(self, guest: Guest) -> None:
        """Stop counting a connection: it is closed, or authenticated."""
        if guest in self._strangers:
            del self._strangers[guest]
            own = self._of_homes[guest.home]
            del own[guest]
            if not own:
                del self._of_homes[guest.home]

    def _is_full(self) -> bool:
        return len(self.connections) > self.most or len(self._strangers) > STRANGERS

    def _make_room(self, among: Iterable[Guest], newcomer: Guest, now: float, is_full: Callable[[], bool]) -> None:
        """Close the oldest unauthenticated connections; those that sent a token since only leave the count, here."""
        while newcomer in self._strangers and is_full():
            oldest = next(guest for guest in among if guest.is_known or guest.is_waiting)
            if oldest is newcomer:
                self._full.log(now)
                newcomer.refuse()
            elif not oldest.is_known:
                self._crowded.log(now)
                oldest.cut()
            self.leave(oldest)

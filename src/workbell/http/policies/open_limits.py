"""Limits of what callers hold open: sockets, live views, streams and long waits; of one caller, of one tenant, in all.

A tenant may have less than there is in all, and holds no more than three quarters of the connections of this process,
so one tenant never takes the live dashboard from another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

from workbell.errors import TooMany
from workbell.model.access import Access
from workbell.model.users import UserId

Key = TypeVar("Key")

AGAIN = 5  # seconds
FILES = 1024  # descriptors of a process, where the system has no limit to read
OWN_FILES = 256  # descriptors that are reserved for the store, files, pipes, and a burst of accepts
FEWEST = 16


class HeldBy(NamedTuple):
    """Holder of open connections: a tenant, and in it a person, or a token that is no person's."""

    tenant: str
    person: UserId

    @classmethod
    def caller(cls, tenant: str, access: Access) -> HeldBy:
        """By session where that is no person: all who sign in with a printed URL are user 0."""
        return cls(tenant, access.user_id or access.token or access.actor)


class OpenLimit(NamedTuple):
    """The most of one kind; `what` is its plural, `remedy` what a caller can do."""

    what: str
    of_caller: int
    of_tenant: int
    in_all: int
    remedy: str


def socket_limit(in_all: int, of_caller: int) -> OpenLimit:
    """The limit of WebSockets for the settings `sockets` and `sockets_per_user`."""
    return OpenLimit("connections", of_caller, max(in_all * 9 // 10, 1), in_all, "close one of them")


STREAMS = OpenLimit("run streams", 50, 300, 1000, "end one of them")  # each reads the store about once a second
WAITS = OpenLimit("waiting requests", 300, 1000, 5000, "wait for one of them to end")
POLLS = OpenLimit("polls of agents", 10, 5000, 20_000, "wait for one of them to end")  # an agent needs one
VIEWS = OpenLimit("different views", 100, 400, 1000, "close a page of the dashboard, or end a subscription")


def refusal(limit: OpenLimit, who: HeldBy, of_caller: int, of_tenant: int, in_all: int) -> str | None:
    """Why a caller may not open one more, given how many there are; none: it may."""
    if of_caller >= limit.of_caller:
        return f"you have {of_caller:,} {limit.what} open, as many as one caller may; {limit.remedy}"
    if of_tenant >= limit.of_tenant:
        return (
            f"tenant {who.tenant} has {of_tenant:,} {limit.what} open, as many as one tenant may; {limit.remedy}, "
            "or wait until others have done so"
        )
    if in_all >= limit.in_all:
        return f"there are {in_all:,} {limit.what} open on this server; try again later"
    return None


class OpenCount:
    """Counter of open connections of one kind, by caller and by tenant; `held` counts those of all kinds, by tenant."""

    def __init__(self, held: Counter[str]) -> None:
        self._held = held
        self._of_callers: Counter[HeldBy] = Counter()
        self._of_tenants: Counter[str] = Counter()

    def __len__(self) -> int:
        return self._of_tenants.total()

    def refusal(self, limit: OpenLimit, who: HeldBy) -> str | None:
        """Why a caller may not open one more; none: it may."""
        if self._held[who.tenant] >= most_connections() * 3 // 4:
            return (
                f"tenant {who.tenant} holds {self._held[who.tenant]:,} connections open (sockets, streams and waiting "
                f"requests), three quarters of all that this server can have; {limit.remedy}, or give it more open "
                "files (ulimit -n, LimitNOFILE)"
            )
        return refusal(limit, who, self._of_callers[who], self._of_tenants[who.tenant], len(self))

    def take(self, limit: OpenLimit, who: HeldBy) -> None:
        """Count one more, or raise why not."""
        why = self.refusal(limit, who)
        if why is not None:
            error = TooMany(f"{why[0].upper()}{why[1:]}.")
            error.retry_after = AGAIN
            raise error
        self._of_callers[who] += 1
        self._of_tenants[who.tenant] += 1
        self._held[who.tenant] += 1

    def give_back(self, who: HeldBy) -> None:
        one_less(self._of_callers, who)
        one_less(self._of_tenants, who.tenant)
        one_less(self._held, who.tenant)

    @contextmanager
    def one_more(self, limit: OpenLimit, who: HeldBy) -> Iterator[None]:
        """Count one while the block runs."""
        self.take(limit, who)
        try:
            yield
        finally:
            self.give_back(who)


class OpenCounts:
    """Counters of open connections on this server, one for each kind."""

    def __init__(self) -> None:
        held: Counter[str] = Counter()
        self.sockets = OpenCount(held)
        self.streams = OpenCount(held)
        self.waits = OpenCount(held)
        self.polls = OpenCount(held)


def one_less(counter: Counter[Key], key: Key) -> None:
    """Count one less; at none the key is forgotten."""
    counter[key] -= 1
    if not counter[key]:
        del counter[key]


def most_connections() -> int:
    """Connection limit of the process: its file descriptors, less those that it needs itself."""
    try:
        import resource
    except ImportError:  # Windows
        limit = FILES
    else:
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        if limit == resource.RLIM_INFINITY:
            limit = 2**20
    return max(limit - OWN_FILES, limit // 4, FEWEST)

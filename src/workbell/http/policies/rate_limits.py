"""Rate limits of requests: token buckets. The monotonic clock is an argument."""

from __future__ import annotations

from typing import NamedTuple

from workbell.http.policies.open_limits import HeldBy

MOST = 10_000  # buckets in memory


class Buckets:
    """One bucket a name; `rate` a second, and `burst` at once."""

    def __init__(self, rate: float, burst: float) -> None:
        self._rate = rate
        self._burst = burst
        self._levels: dict[str, tuple[float, float]] = {}  # what is left, and when that was

    def take(self, name: str, now: float) -> float:
        """Take a token; 0, or seconds until there is one."""
        left = self._left(name, now)
        if left < 1:
            return (1 - left) / self._rate
        if len(self._levels) >= MOST and name not in self._levels:
            self._forget(now)
        self._levels[name] = (left - 1, now)
        return 0.0

    def give_back(self, name: str, now: float) -> None:
        """Put back a token that was just taken, and has bought nothing."""
        self._levels[name] = (min(self._burst, self._left(name, now) + 1), now)

    def _left(self, name: str, now: float) -> float:
        left, at = self._levels.get(name, (self._burst, now))
        return min(self._burst, left + (now - at) * self._rate)

    def _forget(self, now: float) -> None:
        """Remove full buckets; if that does not help, half of all: better too lenient than out of memory."""
        full = [name for name, (left, at) in self._levels.items() if left + (now - at) * self._rate >= self._burst]
        for name in full or list(self._levels)[: MOST // 2]:
            del self._levels[name]


class Allowance(NamedTuple):
    """So many a second, and so many at once."""

    a_second: float
    at_once: float


class CallerRates:
    """A rate for each caller, and one for each tenant with all its callers."""

    def __init__(self, of_caller: Allowance, of_tenant: Allowance) -> None:
        self._of_callers = Buckets(*of_caller)
        self._of_tenants = Buckets(*of_tenant)

    def take(self, who: HeldBy, now: float) -> float:
        """0, or seconds until this caller may."""
        wait = self._of_callers.take(repr(who), now)
        if not wait and (wait := self._of_tenants.take(who.tenant, now)):
            self._of_callers.give_back(repr(who), now)
        return wait

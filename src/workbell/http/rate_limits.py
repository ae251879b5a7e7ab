"""Rate limits of requests: token buckets. The monotonic clock is an argument."""

from __future__ import annotations

MOST = 10_000  # buckets in memory


class Buckets:
    """One bucket a name; `rate` a second, and `burst` at once."""

    def __init__(self, rate: float, burst: float) -> None:
        self._rate = rate
        self._burst = burst
        self._levels: dict[str, tuple[float, float]] = {}  # what is left, and when that was

    def take(self, name: str, now: float) -> float:
        """Take a token; 0, or seconds until there is one."""
        left, at = self._levels.get(name, (self._burst, now))
        left = min(self._burst, left + (now - at) * self._rate)
        if left < 1:
            return (1 - left) / self._rate
        if len(self._levels) >= MOST and name not in self._levels:
            self._forget(now)
        self._levels[name] = (left - 1, now)
        return 0.0

    def _forget(self, now: float) -> None:
        """Remove full buckets; if that does not help, half of all: better too lenient than out of memory."""
        full = [name for name, (left, at) in self._levels.items() if left + (now - at) * self._rate >= self._burst]
        for name in full or list(self._levels)[: MOST // 2]:
            del self._levels[name]

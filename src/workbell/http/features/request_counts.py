"""Request counts by route and status, for the metrics."""

from __future__ import annotations

from collections import Counter, defaultdict

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
OTHER = "other"


class RequestCounts:
    """Requests by method, route and status. A path that no route has is counted under an empty name, and a method that
    nobody knows under `other`: what strangers send must not make the counters grow."""

    def __init__(self) -> None:
        self.busy = 0  # being answered at this moment
        self.requests: Counter[tuple[str, str, int]] = Counter()
        self.seconds: defaultdict[tuple[str, str], float] = defaultdict(float)

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        method = method if method in METHODS else OTHER
        self.requests[method, route, status] += 1
        self.seconds[method, route] += seconds

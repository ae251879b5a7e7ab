"""Prefetch: how many runs a worker claims beyond those that it executes, by how quickly its handlers return. Pure.

Handlers that return within microseconds would wait for every claim. So the worker holds what will be executed in a
tenth of a second, and claims again when half of that is used up: while that claim is under way the other half is
executed. Slow handlers hold nothing ahead, so that other workers get it.
"""

from __future__ import annotations

MOST_AHEAD = 2000  # runs claimed beyond those executing, at most
AHEAD_SECONDS = 0.1  # no more than what will be executed in this time
WINDOW = 0.02  # seconds over which the rate is measured
TRUSTED = 8  # a sample of so many runs that returned at once lets so many times as many be claimed


class Prefetch:
    """Measures the handlers of one worker. Moments are of monotonic time."""

    def __init__(self, slots: int, moment: float) -> None:
        self._slots = slots
        self._rate = 0.0  # handlers that return in a second
        self._returned = 0  # in all, when the window began
        self._began = moment
        self.ahead = 0

    def plan(self, returned: int, moment: float, *, idle: bool, starved: bool) -> int:
        """Decide how many to hold ahead, after so many handlers have returned in all.

        Claim again when at most as many held runs as the answer says have no outcome: a worthwhile batch later is
        better than a trickle now. `idle`: the worker had nothing to do for a while, so nothing is known of what comes.
        `starved`: it has nothing to do now; then the first few of a window say how quick the rest may be, else a burst
        would be over before it is measured.
        """
        returned = max(returned, self._returned)  # it is added up while others write: a moment may miss a batch
        if idle:
            self._rate, self._returned, self._began = 0.0, returned, moment
        count, passed = returned - self._returned, moment - self._began
        rate = self._rate
        if passed >= WINDOW:
            now = count / passed
            rate = self._rate = 0.5 * rate + 0.5 * now if rate else now
            self._returned, self._began = returned, moment
        elif passed > 0 and starved:
            rate = max(rate, min(count / passed, count * TRUSTED / AHEAD_SECONDS))
        self.ahead = min(MOST_AHEAD, int(rate * AHEAD_SECONDS))
        return self._slots + self.ahead - max(self.ahead // 2, 1)

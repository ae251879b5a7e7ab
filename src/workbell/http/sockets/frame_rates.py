"""Rate of messages that clients send over sockets: whoever sends faster is read slower, and loses nothing."""

from __future__ import annotations

import asyncio
import time

from workbell.http.policies.open_limits import HeldBy
from workbell.http.policies.rate_limits import Allowance, CallerRates

OF_CALLER = Allowance(20, 200)  # messages, over all its sockets
OF_TENANT = Allowance(400, 2000)


class FrameRates:
    """Rates of all callers and tenants."""

    def __init__(self) -> None:
        self._rates = CallerRates(OF_CALLER, OF_TENANT)

    async def wait(self, who: HeldBy) -> None:
        """Return when a message of this caller may be read. Meanwhile its socket is not read, so TCP slows it down."""
        while pause := self._rates.take(who, time.monotonic()):
            await asyncio.sleep(pause)

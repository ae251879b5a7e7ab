"""Signals as something to wait for: none is lost, and what was there before comes back."""

from __future__ import annotations

import os
import signal
from multiprocessing.connection import wait

from workbell.workers.signals import Signals


def test_they_come_in_order_and_are_given_back() -> None:
    before = signal.getsignal(signal.SIGUSR1)
    signals = Signals()
    with signals.caught(signal.SIGUSR1, signal.SIGUSR2):
        assert not wait([signals.read_end], 0)
        for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGUSR1):
            os.kill(os.getpid(), number)
        assert wait([signals.read_end], 10)
        assert signals.received() == [signal.SIGUSR1, signal.SIGUSR2, signal.SIGUSR1]
        assert signals.received() == []
    assert signal.getsignal(signal.SIGUSR1) == before

"""Signals as something to wait for: none is lost, and what was there before comes back."""

from __future__ import annotations

import os
import signal
import threading
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


def test_those_of_others_are_left_out() -> None:
    signals = Signals()
    before = signal.signal(signal.SIGUSR2, lambda *_: None)
    try:
        with signals.caught(signal.SIGUSR1):
            os.kill(os.getpid(), signal.SIGUSR2)
            assert wait([signals.read_end], 10)
            assert signals.received() == []
    finally:
        signal.signal(signal.SIGUSR2, before)


def test_one_that_interrupts_no_wait_is_noticed() -> None:
    """As one that comes a moment before the wait begins: here, one that another thread gets."""
    signals, over = Signals(), threading.Event()
    other = threading.Thread(target=over.wait)
    with signals.caught(signal.SIGUSR1):
        other.start()
        assert other.ident is not None
        waiting = threading.Timer(0.2, signal.pthread_kill, (other.ident, signal.SIGUSR1))
        waiting.start()
        try:
            assert wait([signals.read_end], 10)
            assert signals.received() == [signal.SIGUSR1]
        finally:
            waiting.join()
            over.set()
            other.join()
    assert signal.set_wakeup_fd(-1) == -1

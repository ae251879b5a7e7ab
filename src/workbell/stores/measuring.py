"""Measuring the store's time in programs without an engine: now and then, where something depends on it.

An engine measures it every few seconds. Another program would keep the time of its own start, and miss every step.
"""

from __future__ import annotations

from workbell.model.clock import SystemClock
from workbell.stores.port import Store


def has_old_time(store: Store) -> bool:
    """Whether the store's time was not measured for a minute."""
    return isinstance(store.clock, SystemClock) and store.clock.is_old


def measure_old_time(store: Store) -> None:
    """Measure the store's time, if that was long ago."""
    if has_old_time(store):
        store.measure_time()

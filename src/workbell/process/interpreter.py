"""Interpreter settings of a process that works off runs: rare garbage collections, quick switches between threads."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

# Objects between two collections of the youngest; Python's default is 700. Two thousand runs that are held at once make
# every older generation look full: collections were a tenth of the CPU time of short runs.
YOUNGEST = 10_000
# Seconds after which a thread that computes must let others run; the default is 5 ms. A renewal or a claim needs the
# interpreter lock some twenty times: beside ten handlers that compute it took a second, and leases ran out.
SWITCH = 0.001


@contextmanager
def set_for_work() -> Iterator[None]:
    """As long as this lasts: leave the modules and the application out of collections, collect seldom, switch often."""
    thresholds, switch = gc.get_threshold(), sys.getswitchinterval()
    gc.freeze()
    gc.set_threshold(YOUNGEST, *thresholds[1:])
    sys.setswitchinterval(min(switch, SWITCH))
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()
        sys.setswitchinterval(switch)

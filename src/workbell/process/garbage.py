"""Garbage collection in a worker process: less often, and without what was there before the first run."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

# Objects between two collections of the youngest; Python's default is 700. Two thousand runs that are held at once make
# every older generation look full: collections were a tenth of the CPU time of short runs.
YOUNGEST = 10_000


@contextmanager
def rare_collections() -> Iterator[None]:
    """Leave the modules and the application out of collections, and collect seldom, as long as this lasts."""
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNGEST, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()

"""Test kit: for applications that use Workbell, and contracts for adapters.

    from workbell.testing import ManualClock, assert_enqueued, drain, inline, retarget

`drain` executes everything that is due, here and now; `inline` does so at every enqueue; `assert_enqueued` and
`refute_enqueued` ask what was enqueued; `retarget` gives the application's Workbell the store of a test. The fixtures,
the marker and the guard of the real store are in `workbell.testing.plugin`, which pytest loads by itself.
A store or queue of your own is tested by `workbell.testing.contracts`.
"""

from workbell.testing.assertions import assert_enqueued, refute_enqueued
from workbell.testing.clock import ManualClock
from workbell.testing.drain import drain
from workbell.testing.inline import inline
from workbell.testing.retarget import retarget

__all__ = ["ManualClock", "assert_enqueued", "drain", "inline", "refute_enqueued", "retarget"]

"""Test kit: for applications that use Workbell, and contracts for adapters.

    from workbell.testing import ManualClock, assert_enqueued, drain, inline

`drain` executes everything that is due, here and now; `inline` does so at every enqueue; `assert_enqueued` and
`refute_enqueued` ask what was enqueued. The fixtures are in `workbell.testing.plugin`, which pytest loads by itself.
A store or queue of your own is tested by `workbell.testing.contracts`.
"""

from workbell.testing.assertions import assert_enqueued, refute_enqueued
from workbell.testing.clock import ManualClock
from workbell.testing.drain import drain
from workbell.testing.inline import inline

__all__ = ["ManualClock", "assert_enqueued", "drain", "inline", "refute_enqueued"]

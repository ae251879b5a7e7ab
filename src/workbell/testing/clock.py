"""The clock for tests: it stands still until it is told to move."""

from workbell.model.clock import ManualClock

__all__ = ["ManualClock"]

"""Manual clock for tests: it stands still until `advance`."""

from workbell.model.clock import ManualClock

__all__ = ["ManualClock"]

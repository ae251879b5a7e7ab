"""Timing of schedules: pure maths on instants; its only input are the time zones."""

from workbell.timing.cron import Cron
from workbell.timing.interval import Interval
from workbell.timing.jitter import jitter
from workbell.timing.once import Once
from workbell.timing.timing import Timing, read_timing, timing_options
from workbell.timing.window import Window, find_next_inside
from workbell.timing.zones import resolve_timezone

__all__ = [
    "Cron",
    "Interval",
    "Once",
    "Timing",
    "Window",
    "find_next_inside",
    "jitter",
    "read_timing",
    "resolve_timezone",
    "timing_options",
]

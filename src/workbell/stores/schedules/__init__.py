"""Schedules: defined, advanced from tick to tick, read."""

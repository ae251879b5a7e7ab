"""Handlers: functions registered as jobs, the context they get, and what they may return."""

"""Exceptions named in `TaskResult.errors` for tasks that ended without an exception of their own."""

from __future__ import annotations


class TaskCanceled(Exception):
    """The run was canceled: by a person, because it expired, or by its own function."""


class TaskGivenUp(Exception):
    """The run failed without an exception of its function: its worker died again and again, for example."""

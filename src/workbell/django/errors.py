"""Exceptions of tasks: for arguments that are refused, and those named in `TaskResult.errors` for tasks that ended
without an exception of their own."""

from __future__ import annotations

from workbell.errors import InvalidInput


class InvalidArgument(InvalidInput, TypeError):
    """An argument does not fit the task. It is a TypeError as well, which Django's own backends raise."""


class TaskCanceled(Exception):
    """The run was canceled: by a person, because it expired, or by its own function."""


class TaskGivenUp(Exception):
    """The run failed without an exception of its function: its worker died again and again, for example."""

"""Deduplication key of a run as it is stored: its scope is part of the text. `stores/runs/adding` decides a conflict.

A key of the tenant is stored as it was given. A key of a job has the job's name and a mark before it; the mark cannot
be printed, and so it is in no name and in no key that a user gives. Programs that know nothing of scopes write, compare
and free these texts as any others.
"""

from __future__ import annotations

from enum import StrEnum

from workbell.errors import InvalidOption

JOB_MARK = "\x1f"


class KeyScope(StrEnum):
    """Among which runs a key is unique."""

    JOB = "job"  # those of its job, in its tenant
    TENANT = "tenant"  # all of its tenant


def stored_key(key: str, scope: KeyScope, job: str) -> str:
    return f"{job}{JOB_MARK}{key}" if scope is KeyScope.JOB else key


def shown_key(text: str) -> str:
    """The key as the user knows it."""
    return text.rpartition(JOB_MARK)[2]


def read_scope(value: object) -> KeyScope:
    try:
        return KeyScope(value)  # type: ignore[arg-type]
    except ValueError:
        raise InvalidOption(f"key_scope: {value!r} is neither job nor tenant.") from None

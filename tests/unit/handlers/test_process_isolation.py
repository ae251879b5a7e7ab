"""Options of a job that runs in a process of its own: what they may be, and what is said about anything else."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.support.fresh_store import fresh_store
from workbell import Workbell
from workbell.errors import InvalidOption, JobsError
from workbell.handlers.process_isolation import Isolation, isolation_of


def test_limits_are_read_together() -> None:
    assert isolation_of(None, None, None) is None
    assert isolation_of("process", None, None) == Isolation(None, None)
    assert isolation_of("process", "1GB", timedelta(seconds=90)) == Isolation(10**9, 90.0)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((None, "512MB", None), "memory_limit: only a process of its own"),
        ((None, None, 30), "cpu_limit: only a process of its own"),
        (("process", "63MB", None), "memory_limit: 63MB is less"),
        (("process", "much", None), "memory_limit: 'much'"),
        (("thread", None, None), "isolate='process'"),
        ((True, None, None), "isolate='process'"),
        (("process", None, 0), "cpu_limit: 0"),
        (("process", None, -1), "cpu_limit: -1"),
        (("process", None, float("nan")), "cpu_limit: nan"),
        (("process", None, "30"), "cpu_limit: expected seconds"),
    ],
)
def test_options_that_cannot_be_used_are_refused(options: Any, words: str) -> None:
    with pytest.raises(InvalidOption, match=words):
        isolation_of(*options)


def test_a_function_that_no_other_process_could_find_is_refused() -> None:
    bell = Workbell(store=fresh_store())

    def inner() -> None: ...

    for function in (inner, lambda: None):
        with pytest.raises(JobsError, match="top level of a module"):
            bell.job(name="inner", isolate="process")(function)
    assert "inner" not in bell.registry
    bell.job(name="inner")(inner)  # a thread needs no name to find it by


def at_the_top(number: int) -> int:
    return number + 1


def test_a_direct_call_is_just_a_call() -> None:
    job = Workbell(store=fresh_store()).job(isolate="process", memory_limit="1GB", cpu_limit=5)(at_the_top)
    assert job.isolation == Isolation(10**9, 5.0)
    assert job(1) == 2

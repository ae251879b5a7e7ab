"""Options of a task as those of a job, checked: retries and waits, timeout, deduplication key, limits, schedule."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Sequence
from datetime import timedelta
from string import Formatter
from typing import Any

import msgspec

from workbell.django.compat import InvalidTask
from workbell.django.task import options_of
from workbell.errors import InvalidOption, WorkbellError
from workbell.handlers.process_isolation import isolation_of
from workbell.model.clock import seconds, time_limit
from workbell.model.rate import Rate
from workbell.model.retry import DAY, Retry

log = logging.getLogger("workbell.django")

PASSED_ON = ("rate", "isolate", "cron", "timezone")  # options that a job has as well


def check_options(task: Any, attempts: int) -> None:
    """Raise InvalidTask for the first option of Workbell's that cannot be used."""
    try:
        declared_options(task, attempts)
        if task_key := options_of(task).get("key"):
            _check_key(task, task_key)
        if options_of(task).get("cron") is not None:
            _check_no_arguments(task)
    except WorkbellError as error:
        raise InvalidTask(f"task {task.module_path}: {error}") from error


def declared_options(task: Any, attempts: int) -> dict[str, Any]:
    """The options of the job that a task becomes."""
    given = options_of(task)
    found: dict[str, Any] = {"queue": task.queue_name, "retry": retry_of(task, attempts)}
    if "timeout" in given:
        found["timeout"] = time_limit("timeout", given["timeout"])
    if "concurrency" in given:
        found["concurrency"] = _whole("concurrency", given["concurrency"])
    if "rate" in given:
        Rate.parse(given["rate"])
    isolation_of(given.get("isolate"), None, None)
    if "timezone" in given and "cron" not in given:
        raise InvalidOption("timezone: it is that of cron, and there is none; give cron=, or leave it out.")
    if task.priority:
        found["priority"] = task.priority
    return found | {name: given[name] for name in PASSED_ON if name in given}


def retry_of(task: Any, attempts: int) -> Retry:
    """The retry policy of a task. Waits of a list or a function are decided after each failure: see `wait_after`."""
    given = options_of(task)
    most = _whole("max_attempts", given.get("max_attempts", attempts))
    backoff = given.get("backoff")
    if backoff is None:
        return Retry(attempts=most)
    if is_span(backoff):
        wait = seconds("backoff", backoff)
        return Retry(attempts=most, delay=wait, factor=1, cap=max(wait, DAY), jitter=0)
    if not callable(backoff):
        if isinstance(backoff, str) or not isinstance(backoff, Sequence) or not backoff:
            raise InvalidOption(f"backoff: expected seconds, a list of them or a function, got {backoff!r}.")
        for wait in backoff:
            seconds("backoff", wait)
    return Retry(attempts=most, delay=0, jitter=0)


def is_span(backoff: object) -> bool:
    return isinstance(backoff, int | float | timedelta) and not isinstance(backoff, bool)


def has_waits_of(policy: Retry, declared: Retry) -> bool:
    """Whether the policy of a run waits as the declared task does; `using(backoff=…)` gives one with other waits."""
    return msgspec.structs.replace(policy, attempts=declared.attempts) == declared


def wait_after(task: Any, error: BaseException, result: Any, failures: int) -> float:
    """Seconds before the next attempt that the list or the function of a task says; 0 if its policy says it all."""
    backoff = options_of(task).get("backoff")
    if backoff is None or is_span(backoff):
        return 0.0
    if not callable(backoff):
        return seconds("backoff", backoff[min(failures, len(backoff)) - 1])
    try:
        return seconds("backoff", backoff(error, result))
    except Exception:
        log.exception("task %s: its backoff failed; the next attempt follows in a minute", task.module_path)
        return 60.0


def enqueue_options(task: Any, declared: Any, attempts: int, arguments: inspect.BoundArguments) -> Any:
    """Options of one enqueue: what `using` changed of the declared task, and the key for these arguments."""
    found: dict[str, Any] = {}
    changed = {name: value for name, value in options_of(task).items() if getattr(declared, name, None) != value}
    fixed = sorted(changed.keys() & {"concurrency", *PASSED_ON})
    if "backoff" in changed and not is_span(changed["backoff"]):
        fixed.append("backoff")
    if fixed:
        word = "a backoff that is a list or a function" if fixed[0] == "backoff" else fixed[0]
        raise InvalidTask(f"task {task.module_path}: {word} is for all its runs; give it to @task, not to using().")
    if changed.keys() & {"max_attempts", "backoff"}:
        found["retry"] = retry_of(task, attempts)
    if "timeout" in changed:
        found["timeout"] = changed["timeout"]
    key = options_of(task).get("key")
    if key is not None:
        arguments.apply_defaults()
        found["key"] = key.format_map(arguments.arguments)
    return found


def _check_key(task: Any, key: object) -> None:
    if not isinstance(key, str):
        raise InvalidOption(f"key: expected a text with names of arguments in braces, got {type(key).__name__}.")
    names = [*inspect.signature(task.func).parameters][1 if task.takes_context else 0 :]
    try:
        used = [field for _, field, _, _ in Formatter().parse(key) if field is not None]
    except ValueError as error:
        raise InvalidOption(f"key: {key!r} cannot be read: {error}.") from error
    unknown = [field for field in used if field not in names]
    if unknown:
        raise InvalidOption(f"key: {{{unknown[0]}}} is no argument of it; it has {', '.join(names) or 'none'}.")


def _check_no_arguments(task: Any) -> None:
    try:
        inspect.signature(task.func).bind(*((None,) if task.takes_context else ()))
    except TypeError as error:
        raise InvalidOption(f"cron: it runs without arguments, and its function needs some ({error}).") from error


def _whole(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidOption(f"{name}: expected a whole number of 1 or more, got {value!r}.")
    return value

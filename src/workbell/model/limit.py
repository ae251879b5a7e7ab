"""Limits of a job: how many of its runs may be running at once, and how many may start in a span of time.

`Limits` is what a job asks for; a `Limit` is one thing that is counted: all runs of a tenant's job, or those with one
value of a key. What is running is counted from the runs themselves; only starts have to be remembered.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec

from workbell.errors import InvalidOption
from workbell.model.json_text import decode
from workbell.model.rate import Rate, Starts
from workbell.model.run import Lane

MOST_RUNNING = 1_000_000
KEY_LIMIT = 200
_PATH = re.compile(r"[^\W\d]\w*(\.\w+)*\Z")


class Limits(NamedTuple):
    """Limits of a job, over all machines. A key names the argument by whose value runs are counted; none: all runs."""

    concurrency: int | None = None
    concurrency_key: str | None = None
    rate: str | None = None  # "100/m"
    rate_key: str | None = None

    @property
    def key(self) -> str | None:
        """The argument that divides the job's runs into lanes, if one does."""
        return self.concurrency_key or self.rate_key

    def checked(self, arguments: Sequence[str] | None = None) -> Limits:
        """The same, if it can be used. `arguments` are those that the job takes; none: any."""
        if self.concurrency is not None:
            _check_concurrency(self.concurrency)
        if self.rate is not None:
            Rate.parse(self.rate)
        for word in ("concurrency", "rate"):
            key = getattr(self, f"{word}_key")
            if key is None:
                continue
            _check_key(f"{word}_key", key, arguments)
            if getattr(self, word) is None:
                example = "5" if word == "concurrency" else '"100/m"'
                raise InvalidOption(
                    f"{word}_key: there is no {word} to count by it; give one such as {word}={example}."
                )
        if self.concurrency_key and self.rate_key and self.concurrency_key != self.rate_key:
            raise InvalidOption(
                f"concurrency_key and rate_key: {self.concurrency_key!r} and {self.rate_key!r} are two arguments, and "
                "the runs of a job can be counted by one; name the same for both, or leave one out."
            )
        return self


NO_LIMITS = Limits()


class Limit(NamedTuple):
    """One thing that is counted, and how many of it there may be."""

    tenant: str
    job: str
    keyed: bool  # only runs with this key; else all of the job
    key: str | None
    concurrency: int | None
    rate: Rate | None
    by: str | None = None  # the argument that the key is a value of
    scattered: bool = False  # counts all runs of a job that a key of another limit divides into any number of lanes

    @property
    def id(self) -> int:
        return _limit_id(self.tenant, self.job, self.keyed, self.key)

    def room(self, use: Use, now: datetime) -> int:
        """Number of runs that may start now."""
        free = []
        if self.concurrency is not None:
            free.append(self.concurrency - use.running)
        if self.rate is not None:
            free.append(self.rate.allowed(use.starts, now))
        return max(min(free), 0)

    def free_at(self, use: Use, now: datetime) -> datetime | None:
        """When the rate will allow a start, if it alone prevents one now; else None."""
        if self.rate is None or self.rate.allowed(use.starts, now) > 0:
            return None
        return self.rate.free_at(use.starts, now)


class Use(NamedTuple):
    """Use of a limit."""

    running: int = 0
    starts: Starts = ()


UNUSED = Use()


@lru_cache(maxsize=8192)
def limits_on(limits: Limits, lane: Lane) -> tuple[Limit, ...]:
    """The limits of a lane's runs. Concurrency and rate of the same key are one limit."""
    if limits == NO_LIMITS:
        return ()
    rate = None if limits.rate is None else Rate.parse(limits.rate)
    divided = limits.key is not None
    by_key: dict[bool, Limit] = {}
    for key, concurrency, starts in ((limits.concurrency_key, limits.concurrency, None), (limits.rate_key, None, rate)):
        if concurrency is None and starts is None:
            continue
        keyed = key is not None
        known = by_key.get(keyed)
        if known is not None:
            by_key[keyed] = known._replace(rate=starts)
        else:
            value = lane.key if keyed else None
            by_key[keyed] = Limit(lane.tenant, lane.job, keyed, value, concurrency, starts, key, divided and not keyed)
    return tuple(by_key.values())


ALL_JOBS = ""  # the job of a limit that counts every run of its tenant: no job has this name


def limit_of_tenant(tenant: str, concurrency: int | None, rate: str | None) -> Limit | None:
    """The limit of all runs of a tenant together, if there is one."""
    if concurrency is None and rate is None:
        return None
    return Limit(tenant, ALL_JOBS, False, None, concurrency, None if rate is None else Rate.parse(rate))


def limit_key(limits: Limits, input_text: str | None) -> str | None:
    """The value of the key in an input, as a text; none, if nothing is counted by a key."""
    path = limits.key
    if path is None:
        return None
    value: Any = decode(input_text)
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    text = value if isinstance(value, str) else msgspec.json.encode(value, order="sorted").decode()
    if len(text) > KEY_LIMIT or "\x00" in text:
        digest = blake2b(text.encode(), digest_size=12).hexdigest()
        text = f"{text[: KEY_LIMIT - 40].replace(chr(0), '')}…{digest}"
    return text


@lru_cache(maxsize=8192)
def _limit_id(tenant: str, job: str, keyed: bool, key: str | None) -> int:
    parts = [tenant, job, *(["key" if key is not None else "none", key or ""] if keyed else [])]
    return int.from_bytes(blake2b("\x1f".join(parts).encode(), digest_size=8).digest(), "big") >> 1


def _check_concurrency(value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_RUNNING:
        raise InvalidOption(f"concurrency: {value!r} is not a whole number from 1 to {MOST_RUNNING:,}.")


def _check_key(word: str, value: object, arguments: Sequence[str] | None) -> None:
    if not isinstance(value, str) or not _PATH.match(value) or len(value) > KEY_LIMIT:
        raise InvalidOption(
            f'{word}: {value!r} is not the name of an argument; write one such as "customer", or "order.customer" '
            "for a field of one."
        )
    first = value.partition(".")[0]
    if arguments is not None and first not in arguments:
        known = f"the arguments are {', '.join(arguments)}" if arguments else "it takes none"
        raise InvalidOption(f"{word}: the job has no argument {first!r}; {known}.")

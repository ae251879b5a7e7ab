"""`Cancel`, `Snooze`, `TryAgain`, `RetryAfter`: a handler returns or raises one to decide what happens to its run."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec

from workbell.model.clock import span
from workbell.model.json_text import clean_text


class Cancel(msgspec.Struct, frozen=True):
    """Return this from a handler to end its run as canceled, with a reason."""

    reason: str = "canceled by its handler"


class Snooze(msgspec.Struct, frozen=True):
    """Return this from a handler to be called again later; no attempt is spent."""

    delay: float | timedelta = 60.0
    reason: str | None = None

    @property
    def wait(self) -> timedelta:
        return self.delay if isinstance(self.delay, timedelta) else timedelta(seconds=self.delay)


class TryAgain(Exception):
    """Raise this from a handler to fail its attempt and say when the next one makes sense.

    `TryAgain("the mailbox is full", after=120)` waits two minutes, or as long as the retry policy asks if that is
    longer; whether there is another attempt is up to the policy. With `again=False` there is none. `result` is
    stored with the attempt, beside the words.
    """

    def __init__(
        self, words: str, *, after: float | timedelta = 0.0, again: bool = True, result: dict[str, Any] | None = None
    ) -> None:
        super().__init__(words)
        self.words = clean_text(str(words))
        self.wait = max(span("TryAgain", after), timedelta(0))
        self.again = again
        self.result = result


class RetryAfter(Exception):
    """For integrations that call other people's functions: the attempt fails with the error of such a function, as if
    it had not been wrapped, and the next attempt waits for at least so many seconds."""

    def __init__(self, error: BaseException, after: float | timedelta) -> None:
        super().__init__(str(error))
        self.error = error
        self.wait = span("RetryAfter", after)

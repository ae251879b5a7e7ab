"""What a handler gets besides its arguments: its run, a logger bound to it, and a way to tell and to ask."""

from __future__ import annotations

import logging
from collections.abc import Callable, MutableMapping
from typing import TYPE_CHECKING, Any

from workbell.errors import LeaseLost
from workbell.model.payload import encode
from workbell.model.request import plain_request
from workbell.model.run import Lane, Run
from workbell.stores.port import Held

if TYPE_CHECKING:
    from workbell.client import Client

log = logging.getLogger("workbell.job")


class RunLogger(logging.LoggerAdapter[logging.Logger]):
    """Adds the run, its job and attempt to every line."""

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        kwargs["extra"] = {**(self.extra or {}), **kwargs.get("extra", {})}
        return msg, kwargs


class Context:
    """The first parameter of a handler, if it asks for it."""

    __slots__ = ("_client", "_is_canceled", "_logger", "_report", "run")

    def __init__(
        self, run: Run, client: Client, report: Callable[[Held, str], bool], is_canceled: Callable[[], bool]
    ) -> None:
        self.run = run
        self._client = client
        self._report = report
        self._is_canceled = is_canceled
        self._logger: RunLogger | None = None

    @property
    def logger(self) -> RunLogger:
        """A logger whose lines carry run id, job and attempt."""
        if self._logger is None:
            facts = {"run_id": self.run.id, "job": self.run.job, "attempt": self.run.attempt, "tenant": self.run.tenant}
            self._logger = RunLogger(log, facts)
        return self._logger

    @property
    def token(self) -> int:
        """The fencing token of this attempt: higher for each later claim of the same run."""
        return self.run.token

    @property
    def canceled(self) -> bool:
        """Whether the run's end was asked for, its time is over, or its lease is lost: stop as soon as you can."""
        return self._is_canceled()

    def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Tell how far the work is; raises LeaseLost when another worker has taken the run over."""
        text = encode("progress", {"done": done, "total": total, "message": message}, limit=4096)
        if not self._report(Held(self.run.id, self.run.token), text):
            raise LeaseLost(f"run {self.run.id}: another worker holds it now; stop.")

    def enqueue(self, job: str, payload: dict[str, Any] | None = None, **options: Any) -> Run:
        """Enqueue another run for the same tenant."""
        return self._client.enqueue(job, payload, **options)


def detached(job: str, queue: str, client: Client) -> Context:
    """A context for calling a handler directly: its run is in no store, and progress goes nowhere."""
    run = plain_request(Lane(client.tenant, queue, job), None, client.store.clock.now()).run
    return Context(run, client, lambda _held, _text: True, lambda: False)

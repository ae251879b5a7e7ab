"""Heartbeats from a separate thread: a handler that blocks the event loop must not lose its lease."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections.abc import Callable, Sequence
from typing import Any

from workbell.agent_program.held_run import HeldRun, lease_time
from workbell.agent_program.server_connection import ServerConnection
from workbell.errors import WorkbellError
from workbell.remote.asking import call_of
from workbell.wire import agents
from workbell.wire.agents import HeartbeatBody

log = logging.getLogger("workbell.agent_program")

SOON = 1.0  # seconds after which a heartbeat that did not get through is tried again


class AgentHeartbeat:
    """Renews the leases of held runs; `ask` reports a cancel request or a lost lease."""

    def __init__(
        self,
        connection: ServerConnection,
        session: str,
        lease: float,
        held_runs: Callable[[], Sequence[HeldRun]],
        ask: Callable[[HeldRun, str | None], None],
        back: Callable[[], None] = lambda: None,
    ) -> None:
        self._connection = connection
        self._session = session
        self._lease = lease
        self._held_runs = held_runs
        self._ask = ask  # with a reason: a cancel was requested; without: the lease is lost
        self._back = back  # the server can be reached again
        self._trouble: str | None = None
        self._woken = threading.Event()
        self._ended = False
        self._thread = threading.Thread(target=self._run, name="workbell-heartbeat", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._ended = True
        self._woken.set()
        self._thread.join(2)

    def expect(self, asked_at: float) -> None:
        """Note runs from a poll that began at `asked_at`. After a long poll their leases would seem expired once the
        connection breaks: then send a heartbeat now."""
        if lease_time() - asked_at > self._lease / 3:
            self._woken.set()

    def _run(self) -> None:
        pause = self._lease / 3
        while True:
            self._woken.wait(pause)
            self._woken.clear()
            if self._ended:
                return
            pause = self._lease / 3 if self.beat() else min(SOON, self._lease / 3)

    def beat(self) -> bool:
        """One heartbeat; whether it got through."""
        held_runs = {held.key: held for held in self._held_runs() if not held.lost}
        asked_at = lease_time()
        body = HeartbeatBody(
            session=self._session,
            lease=self._lease,
            holding=[held.lease for held in held_runs.values()],
            metrics=_metrics(len(held_runs)),
        )
        try:
            leases = self._connection.send(call_of(agents.heartbeat, body=body)).runs
        except WorkbellError as error:
            self._note(str(error))
            self._lose_old(held_runs.values())
            return False
        for one in leases:
            held = held_runs.get((one.id, one.token))
            if held is None or held.settled:
                continue
            if one.held:
                held.renewed_at = asked_at
                if one.cancel is not None and held.cancel_reason is None:
                    self._ask(held, one.cancel)
            elif not held.finished:
                self._ask(held, None)
        self._note(None)
        return True

    def _note(self, trouble: str | None) -> None:
        """Log what has changed, and pass on that the server can be reached again."""
        if trouble is not None and trouble != self._trouble:
            log.warning("no heartbeat got through: %s", trouble)
        if trouble is None and self._trouble is not None:
            log.info("heartbeats get through again")
            self._back()
        self._trouble = trouble

    def _lose_old(self, held_runs: Any) -> None:
        """Stop runs whose lease has expired by our own clock: somebody else may have them by now.

        The result of a finished run is sent all the same: the server takes it if nobody else has the run.
        """
        for held in held_runs:
            if lease_time() - held.renewed_at >= self._lease and not held.finished:
                self._ask(held, None)


def _metrics(running: int) -> dict[str, Any]:
    metrics: dict[str, Any] = {"running": running}
    with contextlib.suppress(OSError, AttributeError):
        metrics["load"] = round(os.getloadavg()[0], 2)
    return metrics

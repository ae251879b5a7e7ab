"""Heartbeats, from a thread of their own: a handler that holds up the event loop must not cost its lease."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from workbell.agent_program.held_run import Hand
from workbell.agent_program.server_connection import ThreadLine
from workbell.errors import ServiceUnavailable, WorkbellError

log = logging.getLogger("workbell.agent_program")

SOON = 1.0  # seconds after which a heartbeat that did not get through is tried again


class HeartbeatLease(msgspec.Struct, frozen=True):
    """A lease in the answer to a heartbeat: whether the agent still holds it, and whether a cancel was asked for."""

    id: str
    token: int
    held: bool
    cancel: str | None = None


class AgentHeartbeat:
    """Keeps the leases of what is in hand; `ask` passes on what the server, or the clock, says of a run."""

    def __init__(
        self,
        line: ThreadLine,
        session: str,
        lease: float,
        hands: Callable[[], Sequence[Hand]],
        ask: Callable[[Hand, str | None], None],
        back: Callable[[], None] = lambda: None,
    ) -> None:
        self._line = line
        self._session = session
        self._lease = lease
        self._hands = hands
        self._ask = ask  # with a reason: its end is asked for; without: it is lost
        self._back = back  # the line is good again
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
        self._line.close()

    def expect(self, asked_at: float) -> None:
        """Something came to hand that was asked for at a time. After a long poll that is long ago, and its lease would
        seem to be over as soon as the line breaks: then there is a heartbeat now."""
        if time.monotonic() - asked_at > self._lease / 3:
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
        hands = {hand.key: hand for hand in self._hands() if not hand.lost}
        asked_at = time.monotonic()
        body = {
            "session": self._session,
            "lease": self._lease,
            "holding": [{"id": run_id, "token": token} for run_id, token in hands],
            "metrics": _metrics(len(hands)),
        }
        try:
            kept = _kept(self._line.post("/agents/self/heartbeat", body))
        except WorkbellError as error:
            self._note(str(error))
            self._lose_old(hands.values())
            return False
        for one in kept:
            hand = hands.get((one.id, one.token))
            if hand is None or hand.settled:
                continue
            if one.held:
                hand.renewed_at = asked_at
                if one.cancel is not None and hand.cancel_reason is None:
                    self._ask(hand, one.cancel)
            elif not hand.finished:
                self._ask(hand, None)
        self._note(None)
        return True

    def _note(self, trouble: str | None) -> None:
        """Log what has changed, and pass on that the line is good again."""
        if trouble is not None and trouble != self._trouble:
            log.warning("no heartbeat got through: %s", trouble)
        if trouble is None and self._trouble is not None:
            log.info("heartbeats get through again")
            self._back()
        self._trouble = trouble

    def _lose_old(self, hands: Any) -> None:
        """Stop what has a lease that is over by our own clock: somebody else may have the run by now.

        What is finished is told all the same: the server takes it if nobody else has the run.
        """
        for hand in hands:
            if time.monotonic() - hand.renewed_at >= self._lease and not hand.finished:
                self._ask(hand, None)


def _kept(answer: Any) -> list[HeartbeatLease]:
    try:
        return msgspec.convert(answer["runs"], list[HeartbeatLease])
    except (msgspec.ValidationError, KeyError, TypeError) as error:
        raise ServiceUnavailable(f"The answer to a heartbeat cannot be read: {error}.") from error


def _metrics(running: int) -> dict[str, Any]:
    told: dict[str, Any] = {"running": running}
    with contextlib.suppress(OSError, AttributeError):
        told["load"] = round(os.getloadavg()[0], 2)
    return told

"""Heartbeats, from a thread of their own: a handler that holds up the event loop must not cost its lease."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from workbell.agent.hand import Hand
from workbell.agent.line import ThreadLine
from workbell.errors import ServiceUnavailable, TooMany, WorkbellError

log = logging.getLogger("workbell.agent")

SOON = 1.0  # seconds after which a heartbeat that did not get through is tried again


class Heartbeat:
    """Keeps the leases of what is in hand; `ask` passes on what the server, or the clock, says of a run."""

    def __init__(
        self,
        line: ThreadLine,
        session: str,
        lease: float,
        hands: Callable[[], Sequence[Hand]],
        ask: Callable[[Hand, str | None], None],
    ) -> None:
        self._line = line
        self._session = session
        self._lease = lease
        self._hands = hands
        self._ask = ask  # with a reason: its end is asked for; without: it is lost
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
            answer = self._line.post("/agents/self/heartbeat", body)
        except (ServiceUnavailable, TooMany) as error:
            log.info("no heartbeat got through: %s", error)
            self._lose_old(hands.values())
            return False
        except WorkbellError as error:
            log.warning("the heartbeat was refused: %s", error)
            self._lose_old(hands.values())
            return False
        for one in answer["runs"]:
            hand = hands.get((one["id"], one["token"]))
            if hand is None or hand.settled:
                continue
            if not one["held"]:
                self._ask(hand, None)
                continue
            hand.renewed_at = asked_at
            if one["cancel"] is not None and hand.cancel_reason is None:
                self._ask(hand, one["cancel"])
        return True

    def _lose_old(self, hands: Any) -> None:
        """A lease that is over by our own clock: somebody else may have the run by now."""
        for hand in hands:
            if time.monotonic() - hand.renewed_at >= self._lease and not hand.settled:
                self._ask(hand, None)


def _metrics(running: int) -> dict[str, Any]:
    told: dict[str, Any] = {"running": running}
    with contextlib.suppress(OSError, AttributeError):
        told["load"] = round(os.getloadavg()[0], 2)
    return told

"""Doctor over HTTP: a few checks at a time, and an answer within a deadline, even if a check hangs."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import NamedTuple

from workbell.client.local import LocalClient
from workbell.doctor.checks import CHECKS, Check
from workbell.doctor.finding import Finding
from workbell.errors import WorkbellError
from workbell.wire.doctor import FindingShown, State

log = logging.getLogger("workbell.http")

READERS = 3  # of the threads that all requests share
DEADLINE = 0.25  # seconds for every check
FRESH = 10.0  # seconds for which a late result is cached for the next request
STATES: dict[str, State] = {"ok": "ok", "note": "warning", "risk": "problem"}


class Examined(NamedTuple):
    findings: list[Finding]
    complete: bool  # no check is still going on


class Doctor:
    """Doctor checks of one store. A slow check goes on, is not started twice, and its result is in the next answer."""

    def __init__(self) -> None:
        self._going: dict[str, asyncio.Future[list[Finding]]] = {}
        self._began: dict[str, float] = {}
        self._reading = asyncio.Semaphore(READERS)

    async def examine(self, client: LocalClient) -> Examined:
        for name, check in CHECKS.items():
            if name not in self._going or (self._going[name].done() and time.monotonic() - self._began[name] > FRESH):
                self._began[name] = time.monotonic()
                self._going[name] = asyncio.ensure_future(self._run(client, check))
        asked = {name: self._going[name] for name in CHECKS}
        _, late = await asyncio.wait(asked.values(), timeout=DEADLINE)
        return Examined([finding for name, going in asked.items() for finding in self._findings(name, going)], not late)

    async def _run(self, client: LocalClient, check: Check) -> list[Finding]:
        async with self._reading:
            return await client.runtime.hop(lambda: list(check(client.store, {})))

    def _findings(self, name: str, going: asyncio.Future[list[Finding]]) -> list[Finding]:
        if not going.done():
            late = f"this was not checked within {DEADLINE:g} s"
            return [Finding("note", name, late, "ask again, or run `workbell doctor` where the server runs.")]
        if self._going.get(name) is going:  # many may have waited for it
            del self._going[name]
        error = going.exception()
        if error is None:
            return going.result()
        if isinstance(error, WorkbellError):
            return [Finding("risk", name, str(error))]
        log.error("the doctor could not check %s", name, exc_info=error)
        return [Finding("risk", name, "this could not be checked", "the server's log has the details.")]


def shown(finding: Finding) -> FindingShown:
    return FindingShown(name=finding.what, state=STATES[finding.level], says=finding.says, remedy=finding.remedy)

"""Supervised workers for tests: the command line's own `start` and `worker`, with the application of `fleet_app`."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from .processes import PACKAGE, Process, Site, kill, state
from .waiting import until

APP = f"{PACKAGE}.fleet_app:bell"

Supervisor = Process


class Fleet(Site):
    """A site whose processes are supervisors, each with children of its own."""

    def __enter__(self) -> Fleet:
        return self

    def supervise(self, command: str = "worker", *options: str, app: str = APP) -> Supervisor:
        """`worker --processes N`, or `start --processes N` with a scheduler."""
        return self.start(command, "--app", app, *options, program="supervised")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Children too, at once: those of a killed supervisor would let their handlers end first."""
        for supervisor in self.started_here:
            kill(supervisor)
        for pid in self.everybody():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        super().__exit__(kind, error, trace)

    def everybody(self) -> list[int]:
        """Every process that a supervisor of this site has started, also those whose parents are gone."""
        mark = f"RECORDING={self.recorder.path}\0".encode()
        return [pid for pid in all_processes() if mark in environment_of(pid)]

    # The children of a supervisor, by what the system says of them

    def children_of(self, supervisor: Supervisor, kind: str = "worker") -> list[int]:
        """The processes of a kind: `worker`, `server` or `keeper`."""
        return sorted(pid for pid, name in family(supervisor.pid).items() if name == f"workbell {kind}"[:15])

    def ready(self, supervisor: Supervisor, kind: str = "worker") -> list[int]:
        """Those whose engines are up."""
        up = {event["pid"] for event in self.events() if event["kind"] == "ready"}
        return [pid for pid in self.children_of(supervisor, kind) if pid in up]

    def await_workers(self, supervisor: Supervisor, count: int, kind: str = "worker") -> list[int]:
        """Until exactly so many are there, all with their engines up."""

        def there() -> list[int]:
            assert supervisor.poll() is None, f"the supervisor ended with {supervisor.returncode}"
            found = self.ready(supervisor, kind)
            return found if len(found) == count == len(self.children_of(supervisor, kind)) else []

        return until(there, f"{count} {kind}s", 60)


def stop(supervisor: Supervisor) -> int:
    """As an init system does it; the exit code."""
    supervisor.send_signal(signal.SIGTERM)
    return supervisor.wait(60)


def all_processes() -> list[int]:
    return [int(place.name) for place in Path("/proc").iterdir() if place.name.isdigit()]


def environment_of(pid: int) -> bytes:
    """As it was at the start of a process; empty if it has ended."""
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


def family(pid: int) -> dict[int, str]:
    """Every process below this one, by what it is called."""
    found: dict[int, str] = {}
    waiting = [pid]
    while waiting:
        for child in children(waiting.pop()):
            with suppress(OSError):
                text = Path(f"/proc/{child}/stat").read_text("utf-8", "replace")
                name, _, rest = text.partition("(")[2].rpartition(")")
                if rest.split()[0] not in "ZX":
                    found[child] = name
                waiting.append(child)
    return found


def children(pid: int) -> list[int]:
    """Asked for again and again, and therefore of the one process: to look at all of them takes far longer."""
    found: list[int] = []
    with suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                found += map(int, (thread / "children").read_text().split())
    return found


def await_gone(pids: Iterable[int]) -> None:
    until(lambda: all(is_gone(pid) for pid in pids), "all of these processes to end")


def is_gone(pid: int) -> bool:
    try:
        return state(pid) in "ZX"
    except OSError:
        return True

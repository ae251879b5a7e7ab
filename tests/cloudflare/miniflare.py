"""The bridge in miniflare: D1 as Cloudflare's own runtime has it, on this machine."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import msgspec

from tests.support.processes import kill
from workbell.model.state import Retention
from workbell.stores.d1.bridge_calls import BridgeCalls
from workbell.stores.d1.bridge_files import write_bridge
from workbell.stores.d1.database import D1Database
from workbell.stores.sql_store import SqlStore

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
TOKEN = "a-token-of-the-tests"
DATABASES = 12  # of a pool: the one that was given out longest ago is emptied and given out again
DEADLINE = 60


class Node:
    """A program for Node.js that prints the port it listens on, and ends with its input."""

    def __init__(self, folder: Path, program: str, *arguments: str) -> None:
        node = Path(os.environ.get("WORKBELL_NODE", ROOT / ".node"))
        assert (node / "node_modules" / "miniflare").is_dir(), "miniflare is not installed; run: make test-cloudflare"
        environment = os.environ | {"NODE_FOLDER": str(node), "TMPDIR": str(folder)}
        self._process = subprocess.Popen(
            ["node", str(HERE / program), *arguments],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        told = self._process.stdout.readline()
        assert told.strip().isdigit(), f"miniflare did not start: {told}"
        self.port = int(told)
        # What a Worker logs comes here as well: were it not read, it would block in the end.
        threading.Thread(target=self._process.stdout.read, daemon=True).start()

    def stop(self) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.close()
            self._process.wait(DEADLINE)
        finally:
            kill(self._process)


class Miniflare(Node):
    """The bridge as `workbell bridge write` writes it, behind front.mjs, which can lose and delay calls."""

    def __init__(self, folder: Path, bridge: Path | None = None) -> None:
        if bridge is None:
            bridge = folder / "bridge"
            write_bridge(bridge)
        super().__init__(folder, "harness.mjs", str(bridge), TOKEN, str(DATABASES), str(folder / "data"))

    def address(self, *, empty: bool = False) -> str:
        """A database of its own; with empty tables in it, or with none."""
        return f"http://127.0.0.1:{self.port}/{'empty' if empty else 'made'}-{uuid4().hex}"

    def url(self, *, empty: bool = False) -> str:
        return f"d1+{self.address(empty=empty)}"

    def fault(self, address: str, **words: Any) -> None:
        """What happens to every so many calls from now on; see front.mjs."""
        httpx2.post(f"{address.removeprefix('d1+')}/fault", json=words, timeout=DEADLINE).raise_for_status()

    def execute(self, address: str, statements: Sequence[tuple[str, list[Any]]]) -> None:
        """SQL in that database, as another program with a binding to it executes it."""
        base = address.removeprefix("d1+")
        httpx2.post(f"{base}/sql", json=list(statements), timeout=DEADLINE).raise_for_status()

    def mend(self, address: str) -> int:
        """No more faults; how many calls have failed."""
        failed = int(httpx2.get(f"{address.removeprefix('d1+')}/failed", timeout=DEADLINE).json())
        self.fault(address, every=1 << 40)
        return failed


class QueueServer(Node):
    """A queue, behind a stand-in for Cloudflare's REST API: see queue_front.mjs. With a service it is pushed there."""

    def __init__(self, folder: Path, **variables: str) -> None:
        write_bridge(folder / "bridge")
        settings = {"API_TOKEN": TOKEN} | variables
        super().__init__(folder, "queue_harness.mjs", str(folder / "bridge"), msgspec.json.encode(settings).decode())
        self.base = f"http://127.0.0.1:{self.port}"

    def url(self, queue: str = "runs", account: str = "account") -> str:
        return f"cloudflare-queue://{account}/{queue}?api={self.base}/client/v4"

    def do(self, what: str, body: Any = None) -> dict[str, int]:
        """`fault`, `empty`, `raw` or `cron`; what was counted so far."""
        answer = httpx2.post(f"{self.base}/{what}", json=body, timeout=DEADLINE)
        answer.raise_for_status()
        counted: dict[str, int] = answer.json()
        return counted


def open_d1(address: str, *, deadline: float = 60.0, token: str = TOKEN) -> SqlStore:
    """A store with another deadline than usual: a busy machine may take long, and a test must not wait for long."""
    base = address.removeprefix("d1+")
    calls = BridgeCalls(base, token, loopback=True, connections=8, deadline=deadline)
    return SqlStore(D1Database(calls, 8), Retention())

"""The bridge in miniflare: D1 as Cloudflare's own runtime has it, on this machine."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2

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


class Miniflare:
    """The bridge as `workbell bridge write` writes it, behind front.mjs, which can lose and delay calls."""

    def __init__(self, folder: Path, bridge: Path | None = None) -> None:
        node = Path(os.environ.get("WORKBELL_NODE", ROOT / ".node"))
        assert (node / "node_modules" / "miniflare").is_dir(), "miniflare is not installed; run: make test-cloudflare"
        if bridge is None:
            bridge = folder / "bridge"
            write_bridge(bridge)
        command = ["node", str(HERE / "harness.mjs"), str(bridge), TOKEN, str(DATABASES), str(folder / "data")]
        environment = os.environ | {"NODE_FOLDER": str(node), "TMPDIR": str(folder)}
        self._process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        told = self._process.stdout.readline()
        assert told.strip().isdigit(), f"miniflare did not start: {told}"
        self.port = int(told)

    def address(self, *, empty: bool = False) -> str:
        """A database of its own; with empty tables in it, or with none."""
        return f"http://127.0.0.1:{self.port}/{'empty' if empty else 'made'}-{uuid4().hex}"

    def url(self, *, empty: bool = False) -> str:
        return f"d1+{self.address(empty=empty)}"

    def fault(self, address: str, **words: Any) -> None:
        """What happens to every so many calls from now on; see front.mjs."""
        httpx2.post(f"{address.removeprefix('d1+')}/fault", json=words, timeout=DEADLINE).raise_for_status()

    def mend(self, address: str) -> int:
        """No more faults; how many calls have failed."""
        failed = int(httpx2.get(f"{address.removeprefix('d1+')}/failed", timeout=DEADLINE).json())
        self.fault(address, every=1 << 40)
        return failed

    def stop(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.close()  # it ends with its input
            self._process.wait(DEADLINE)
        finally:
            kill(self._process)
            self._process.stdout.close()


def open_d1(address: str, *, deadline: float = 60.0, token: str = TOKEN) -> SqlStore:
    """A store with another deadline than usual: a busy machine may take long, and a test must not wait for long."""
    base = address.removeprefix("d1+")
    calls = BridgeCalls(base, token, loopback=True, connections=8, deadline=deadline)
    return SqlStore(D1Database(calls, 8), Retention())

"""The server: SQLite files in one folder, each with one connection, and batches that are executed whole or not at all.

    python -m socket_store.server --folder data --port 7420

A request is a line of JSON, and so is its answer; Python's JSON keeps integers of 64 bits exact.

    {"name": "shop", "write": true, "batch": [[sql, parameters, exactly], …]}
    {"answers": [[columns, rows], …], "commits": 17, "time": 1893499200.5}
    {"conflict": "UNIQUE constraint failed: …", "at": null}   or, from a guard, the place of its statement in the batch
    {"error": "no such table: …"}

It asks nobody for a password: let it listen where only your own programs connect.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import signal
import socketserver
import sqlite3
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

NAME = re.compile(r"\w+", re.ASCII)


class GuardSaysNo(Exception):
    """A statement found another number of rows than it must."""


class Base:
    """One file. One connection serves everybody in turn, so no transaction sees half of another."""

    def __init__(self, path: Path) -> None:
        self._turn = threading.Lock()
        self._commits = time.time_ns()  # so that it is another number after a restart, too
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._connection.execute("PRAGMA journal_mode = wal")
        self._connection.execute("PRAGMA synchronous = full")  # a commit that was answered survives a power cut

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        with self._turn:
            try:
                answers = self._execute(request["batch"], write=request["write"])
            except GuardSaysNo as no:
                return {"conflict": f"{no.args[1]} rows", "at": no.args[0]}
            except sqlite3.IntegrityError as error:
                return {"conflict": str(error), "at": None}
            except sqlite3.Error as error:
                return {"error": str(error)}
            return {"answers": answers, "commits": self._commits, "time": time.time()}

    def _execute(self, batch: list[Any], *, write: bool) -> list[Any]:
        if not batch:
            return []
        self._connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
        try:
            answers = [self._rows(place, *statement) for place, statement in enumerate(batch)]
            self._connection.execute("COMMIT")
        finally:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        self._commits += write
        return answers

    def _rows(self, place: int, sql: str, parameters: dict[str, Any], exactly: int | None) -> list[Any]:
        cursor = self._connection.execute(sql, parameters)
        found = cursor.fetchall()
        if exactly is not None and len(found) != exactly:
            raise GuardSaysNo(place, len(found))
        return [[column[0] for column in cursor.description or ()], found]

    def close(self) -> None:
        self._connection.close()


class Server(socketserver.ThreadingTCPServer):
    """Has a file open as long as a client uses it."""

    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False  # the thread of a client that stays connected never ends

    def __init__(self, host: str, port: int, folder: Path) -> None:
        super().__init__((host, port), Client)
        self._folder = folder
        self._guard = threading.Lock()
        self._bases: dict[str, Base] = {}
        self._users: Counter[str] = Counter()

    def open_base(self, name: str) -> Base:
        if not NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no name; use letters, digits and _")
        with self._guard:
            if name not in self._bases:
                self._bases[name] = Base(self._folder / f"{name}.db")
            self._users[name] += 1
            return self._bases[name]

    def close_base(self, name: str) -> None:
        with self._guard:
            self._users[name] -= 1
            if not self._users[name]:
                del self._users[name]
                self._bases.pop(name).close()


class Client(socketserver.StreamRequestHandler):
    """One connection, in a thread of its own."""

    disable_nagle_algorithm = True
    server: Server

    def handle(self) -> None:
        self._used: dict[str, Base] = {}
        try:
            while line := self.rfile.readline():
                self.wfile.write(json.dumps(self._answer(line)).encode() + b"\n")
        except ConnectionError:
            pass  # the client has gone
        finally:
            for name in self._used:
                self.server.close_base(name)

    def _answer(self, line: bytes) -> dict[str, Any]:
        try:
            request = json.loads(line)
            name = request["name"]
            if name not in self._used:
                self._used[name] = self.server.open_base(name)
            return self._used[name].answer(request)
        except (KeyError, OverflowError, TypeError, ValueError, sqlite3.Error) as error:
            return {"error": f"{type(error).__name__}: {error}"}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m socket_store.server", description="Serve SQLite files.")
    parser.add_argument("--folder", type=Path, default=Path(), help="where the files are")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=7420, help="0: any that is free; it is printed")
    chosen = parser.parse_args()
    if not chosen.folder.is_dir():
        parser.error(f"the folder {chosen.folder} does not exist; create it")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with Server(chosen.host, chosen.port, chosen.folder) as server:
        print("listening on {}:{}".format(*server.server_address), flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            server.serve_forever()


if __name__ == "__main__":
    main()

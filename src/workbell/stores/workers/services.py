"""The processes that serve the HTTP API of a store, and where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from workbell.stores.database import Database, Statement, read_rows, write_rows

PREFIX = "service/"  # prefix of the facts about processes that serve the API


class Services:
    """Addresses of the API; that of a process that was killed may still be among them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, process: str, address: str) -> None:
        """A process serves the API there: its `host:port`."""
        write_rows(self._database, "note_service", name=PREFIX + process, value=address)

    def remove(self, processes: Sequence[str]) -> None:
        if processes:
            self._database.write([Statement("forget_service", {"name": PREFIX + process}) for process in processes])

    def list(self) -> Mapping[str, str]:
        """Addresses by the names of processes."""
        return {row[0].removeprefix(PREFIX): row[1] for row in read_rows(self._database, "services")}

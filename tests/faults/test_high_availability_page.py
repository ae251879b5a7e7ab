"""Every command of the page "High availability" is run, on real servers: `db1$` and `db2$` there, `$` beside them.

Names on the page stand for places of the test: each machine is a port, `/var/lib/postgresql` a folder, 3 o'clock a
moment that the test has noted. `pg_ctl start` is done by the harness, which also ends the server with the tests.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, all_blocks, plain_environment, text_of
from tests.docs.shell import Shell
from tests.support.postgres import PostgresServer
from tests.support.postgres_pair import WAL, is_standby, stable_port
from tests.support.waiting import insist, until
from workbell import Workbell

PAGE = DOCS / "how-to" / "high-availability.md"
PROMPT = re.compile(r"(?P<machine>db\d)?\$ (?P<command>.*)")
THREE = "2026-11-18 03:00:00+00"
FOLDER = "/var/lib/postgresql"
START = "pg_ctl start"
RUN = {  # sections with commands, and who runs them
    "Name every host in the URL": "test_a_failover",
    "Set up a standby": "test_a_failover",
    "Synchronous or asynchronous": "test_a_failover",
    "Fail over by hand": "test_a_failover",
    "Restore PostgreSQL to a point in time": "test_a_point_in_time",
    "Back up and restore SQLite": "test_sqlite",
    "What to check afterwards": "test_afterwards",
}


def sections() -> dict[str, list[list[str]]]:
    """The blocks of commands under each heading, as lines."""
    parts = re.split(r"^## (.+)\n", text_of(PAGE), flags=re.MULTILINE)[1:]
    found = {}
    for heading, text in zip(parts[::2], parts[1::2], strict=True):
        found[heading] = [block.text.splitlines() for block in all_blocks(text) if block.language == "console"]
    return {heading: blocks for heading, blocks in found.items() if blocks}


class Machines:
    """The machines of the page: two for databases, and the one with Workbell, in whose folder commands are run."""

    def __init__(self, folder: Path) -> None:
        self.db = {name: PostgresServer(settings=WAL) for name in ("db1", "db2")}
        self.places = {}
        for name, server in self.db.items():
            server.port = stable_port()
            self.places[f"{name}.example"] = f"127.0.0.1:{server.port}"
        self.places[FOLDER] = str(self.db["db1"].folder)
        self._here = Shell(folder, plain_environment() | {"COLUMNS": "300", "PYTHONUTF8": "1"}, 8321)

    @property
    def url(self) -> str:
        hosts = ",".join(f"127.0.0.1:{server.port}" for server in self.db.values())
        return f"postgresql://shop@{hosts}/shop"

    def create_shop(self) -> None:
        first = self.db["db1"].start()
        first.execute("CREATE ROLE shop LOGIN")
        first.execute("CREATE DATABASE shop OWNER shop")

    def follow(self, lines: list[str]) -> str:
        """Run the commands of a block; the lines that the page shows below one must be printed."""
        printed = ""
        for line in lines:
            prompt = PROMPT.fullmatch(line)
            if prompt is None:
                assert " ".join(line.split()) in " ".join(printed.split()), f"{line!r} is not in\n{printed}"
                continue
            command = prompt["command"]
            for name, place in self.places.items():
                command = command.replace(name, place)
            printed = self._run(prompt["machine"], command)
        return printed

    def _run(self, machine: str | None, command: str) -> str:
        if machine is None:
            printed = self._here.run(f"{command}; echo exit $?")
            assert printed.endswith("exit 0"), f"{command}\n{printed}"
            assert "Traceback" not in printed, printed
            assert "workbell: " not in printed, printed
            return printed
        if command == START:
            self.db[machine].start()
            return ""
        return self.db[machine].shell(command, PGDATABASE="shop")

    def close(self) -> None:
        self._here.close()
        for server in self.db.values():
            server.remove()


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[Machines]:
    machines = Machines(tmp_path)
    yield machines
    machines.close()


def test_every_section_with_commands_is_run() -> None:
    assert sections().keys() == RUN.keys()
    for blocks in sections().values():
        assert all(PROMPT.fullmatch(lines[0]) for lines in blocks)


def enqueue(url: str) -> str:
    with Workbell(url) as bell:

        @bell.job
        def work() -> None: ...

        # Of tomorrow: the doctor would not be content with a run that no worker takes.
        return insist(work.options(delay=86400).enqueue).id


def runs(url: str) -> set[str]:
    with Workbell(url) as bell:
        return {run.id for run in insist(lambda: bell.runs(limit=100))}


def test_a_failover(machines: Machines) -> None:
    """Sections in the order of the page: hosts, a standby, synchronous, failover, and the way back."""
    machines.create_shop()
    page = sections()
    (hosts,) = page["Name every host in the URL"]
    machines.follow(hosts)
    (standby,) = page["Set up a standby"]
    first, second = machines.db.values()
    machines.follow(standby[:-1])
    until(lambda: "streaming" in machines.follow(standby[-1:]), "the standby to follow")
    synchronous, reset = page["Synchronous or asynchronous"]
    machines.follow(synchronous)
    until(lambda: first.ask("SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'"), "it to be synchronous")
    kept = enqueue(machines.url)
    failover, back = page["Fail over by hand"]
    assert "now on 127.0.0.1:" + str(second.port) in machines.follow(failover)
    assert runs(machines.url) == {kept}
    assert not is_standby(second)
    machines.follow(back[:-1])
    until(lambda: "streaming" in machines.follow(back[-1:]), "the old primary to follow")
    assert is_standby(first)
    machines.follow([line.replace("db1$", "db2$") for line in reset])
    assert enqueue(machines.url) != kept


def test_a_point_in_time(machines: Machines) -> None:
    machines.create_shop()
    machines.follow(['$ export WORKBELL_URL="postgresql://shop@db1.example/shop"'])
    archive, restore = sections()["Restore PostgreSQL to a point in time"]
    machines.follow(archive)
    server = machines.db["db1"]
    url = server.url("shop").replace("//workbell@", "//shop@")
    kept = enqueue(url)
    ((moment,),) = server.ask("SELECT clock_timestamp()::text")
    machines.places[THREE] = moment
    lost = enqueue(url)
    assert runs(url) == {kept, lost}
    machines.follow(restore)
    until(lambda: not is_standby(server), "the recovery to end")
    assert runs(url) == {kept}


def test_sqlite(machines: Machines, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'workbell.db'}"
    kept = enqueue(url)
    (commands,) = sections()["Back up and restore SQLite"]
    assert commands[2].startswith("$ workbell restore")
    machines.follow(commands[:2])
    enqueue(url)
    machines.follow(commands[2:])
    assert runs(url) == {kept}


def test_afterwards(machines: Machines) -> None:
    machines.create_shop()
    machines.follow(['$ export WORKBELL_URL="postgresql://shop@db1.example/shop"'])
    enqueue(machines.url)
    (commands,) = sections()["What to check afterwards"]
    machines.follow(commands)

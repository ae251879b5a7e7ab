"""The program `workbell agent` against a real `workbell server`: pairing, handlers, commands, and kill -9 (E7)."""

from __future__ import annotations

import os
import signal
import socket
import stat
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from tests.support.command_line import command
from tests.support.fleet import Fleet, Supervisor, await_gone, family
from tests.support.waiting import until
from workbell import Workbell
from workbell.cli.agent import pair
from workbell.model.run import Run, Status

JOBS = """
import asyncio
import os
import time
from pathlib import Path

from workbell import Context, Workbell

bell = Workbell("memory://")
here = Path(os.environ["GATES"])


def note(ctx):
    with (here / "starts").open("a") as out:
        out.write(f"{ctx.run.id} {ctx.run.attempt}\\n")


@bell.job
async def quick(ctx: Context, number: int) -> dict:
    note(ctx)
    ctx.logger.info("number %d", number)
    ctx.progress(number, 100, "here")
    return {"number": number}


@bell.job
def gated(ctx: Context, gate: str) -> str:
    note(ctx)
    while not (here / gate).exists():  # whatever it is asked: what returns has not been handed back
        time.sleep(0.005)
    return "passed"


@bell.job(retry=None)
async def broken() -> None:
    raise ValueError("no")
"""

CONFIG = """
[commands.show]
command = ["/usr/bin/printf", "%s|", "{text}", "x{text}"]
timeout = 20
"""


LEASE = "120"  # seconds, longer than any outage here: nothing may come right only because a lease is over


@pytest.fixture
def port() -> int:
    with closing(socket.socket()) as found:
        found.bind(("127.0.0.1", 0))
        number: int = found.getsockname()[1]
        return number


@pytest.fixture
def site(tmp_path: Path, sqlite_url: str, port: int) -> Iterator[Fleet]:
    settings = {"LEASE": LEASE, "HTTP": "true", "HTTP_PORT": str(port)}
    with Fleet(tmp_path, sqlite_url, **settings) as made:
        (made.gates / "workbell.toml").touch()
        (made.gates / "agent_jobs.py").write_text(JOBS)
        yield made


def serve(site: Fleet, port: int) -> Supervisor:
    """A supervised server that answers."""
    supervisor = site.start("server", program="supervised")

    def answers() -> bool:
        assert supervisor.poll() is None, "the server ended by itself"
        connection = HTTPConnection("127.0.0.1", port, timeout=30)
        with closing(connection), suppress(OSError, HTTPException):
            connection.request("GET", "/healthz")
            return connection.getresponse().status == 200
        return False

    until(answers, "the server to answer", 60)
    return supervisor


def kill_server_child(site: Fleet, server: Supervisor, port: int) -> None:
    """The process that serves, not its supervisor: that keeps the socket, so nobody is refused meanwhile."""
    (child,) = site.children_of(server, "server")
    os.kill(child, signal.SIGKILL)
    await_gone([child])
    with closing(socket.socket()) as caller:
        assert caller.connect_ex(("127.0.0.1", port)) == 0, "the socket is kept by the supervisor"


def kill_everything(server: Supervisor, port: int) -> None:
    """The supervisor first, so that nothing is started anew; then all that it had. Nobody listens any more."""
    everybody = [server.pid, *family(server.pid)]
    for pid in everybody:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    await_gone(everybody)

    def refused() -> bool:
        with closing(socket.socket()) as caller:
            return caller.connect_ex(("127.0.0.1", port)) != 0

    until(refused, "the socket to be closed")  # the last thread of a killed process closes it


def pair_here(site: Fleet, bell: Workbell, port: int) -> None:
    """As `workbell agent pair` does it, which leaves a configuration and a token that is ours alone."""
    config, token_file = site.gates / "agent.toml", site.gates / "agent.token"
    text = bell.agents.pairing("web-1", labels=["gpu"]).text
    asked = ["--config", str(config), "--url", f"http://127.0.0.1:{port}"]
    answer = CliRunner().invoke(pair, asked, input=f"{text}\n", obj=str(config), catch_exceptions=False)
    assert answer.output.startswith("Paired as web-1."), answer.output
    assert stat.S_IMODE(token_file.stat().st_mode) == 0o600
    config.write_text(f'app = "agent_jobs:bell"\nlease = {LEASE}\n{config.read_text()}{CONFIG}')


def await_ends(bell: Workbell, runs: Sequence[Run]) -> None:
    until(lambda: all(bell.get(run.id).status.final for run in runs), "the runs to end", 60)


def await_status(bell: Workbell, run: Run, status: Status) -> None:
    until(lambda: bell.get(run.id).status is status, f"a run to be {status}", 60)


def test_an_agent_outlives_its_server(site: Fleet, port: int) -> None:
    """Its server's process is killed, then all of the server: the agent goes on, and every run ends once."""
    with Workbell(site.url) as bell:

        def enqueue(count: int) -> list[Run]:
            return [bell.enqueue("quick", {"number": number}, target="web-1") for number in range(count)]

        server = serve(site, port)
        pair_here(site, bell, port)
        first = enqueue(20)
        through_a_restart = bell.enqueue("gated", {"gate": "one"}, target="label:gpu")
        through_an_outage = bell.enqueue("gated", {"gate": "two"}, target="web-1")
        agent = site.run_command(command("agent"))
        await_ends(bell, first)
        await_status(bell, through_a_restart, Status.RUNNING)
        await_status(bell, through_an_outage, Status.RUNNING)

        kill_server_child(site, server, port)
        (site.gates / "one").touch()  # what comes of it must be told to the next child
        second = enqueue(20)
        await_ends(bell, [through_a_restart, *second])

        kill_everything(server, port)
        (site.gates / "two").touch()  # what comes of it must be told to the next server
        evil = "; touch pwned $(touch pwned) `touch pwned` && touch pwned"
        shown = bell.enqueue("show", {"text": evil}, target="web-1")
        refused = bell.enqueue("broken", {}, target="web-1")
        third = enqueue(5)
        server = serve(site, port)
        every = [*first, through_a_restart, *second, through_an_outage, *third, shown]
        await_ends(bell, every)
        until(lambda: bell.get(refused.id).failures > 0, "the failure to be told")

        assert {bell.get(run.id).status for run in every} == {Status.SUCCEEDED}
        assert {bell.get(run.id).result for run in (through_a_restart, through_an_outage)} == {"passed"}
        assert [bell.get(run.id).result for run in second] == [{"number": number} for number in range(20)]
        assert bell.get(shown.id).result == {"exit_code": 0, "output": f"{evil}|x{evil}|"}
        assert not (site.gates / "pwned").exists()
        assert "ValueError: no" in (bell.get(refused.id).error or "")
        assert bell.get(refused.id).error_type == "builtins.ValueError"
        told = [line for line in site.log.read_text().splitlines() if "run failed here: broken" in line]
        assert "in broken" in msgspec.json.decode(told[0])["error.stack"], "where the exception is, with its frames"
        assert [line.message for line in bell.logs(second[7].id)] == ["number 7"]
        assert bell.get(second[7].id).progress == {"done": 7, "total": 100, "message": "here"}
        starts = (site.gates / "starts").read_text().split("\n")[:-1]
        assert len(starts) == len(set(starts)) == 47, "a handler was called twice"
        assert {len(bell.attempts(run.id)) for run in every} == {1}

        left = bell.enqueue("gated", {"gate": "never"}, target="web-1")
        stopped = bell.enqueue("gated", {"gate": "never"}, target="web-1")
        await_status(bell, left, Status.RUNNING)
        await_status(bell, stopped, Status.RUNNING)
        agent.send_signal(signal.SIGTERM)
        agent.send_signal(signal.SIGINT)
        assert agent.wait(30) == 0
        assert {bell.get(run.id).status for run in (left, stopped)} == {Status.QUEUED}, "they are handed back"

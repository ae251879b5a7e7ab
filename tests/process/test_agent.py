"""The program `workbell agent` against a real server process: pairing, handlers, commands, and a server that dies."""

from __future__ import annotations

import signal
import socket
import stat
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.command_line import assert_refused, call, command
from tests.support.processes import Site, kill
from tests.support.waiting import until
from workbell import Workbell
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
    while not (here / gate).exists() and not ctx.canceled:
        time.sleep(0.005)
    return "canceled" if ctx.canceled else "passed"


@bell.job(retry=None)
async def broken() -> None:
    raise ValueError("no")
"""

CONFIG = """
[commands.show]
command = ["/usr/bin/printf", "%s|", "{text}", "x{text}"]
timeout = 20
"""


@pytest.fixture
def port() -> int:
    with closing(socket.socket()) as found:
        found.bind(("127.0.0.1", 0))
        number: int = found.getsockname()[1]
        return number


@pytest.fixture
def site(tmp_path: Path, sqlite_url: str, port: int) -> Iterator[Site]:
    settings = {"LEASE": "30", "HTTP_PORT": str(port), "LOG_LEVEL": "debug"}
    with Site(tmp_path, sqlite_url, **settings) as made:
        (made.gates / "agent_jobs.py").write_text(JOBS)
        yield made


def serve(site: Site, port: int) -> subprocess.Popen[bytes]:
    """A server process that answers."""
    process = site.start(program="agent_server")

    def answers() -> bool:
        assert process.poll() is None, "the server ended by itself"
        with closing(socket.socket()) as found:
            return found.connect_ex(("127.0.0.1", port)) == 0

    until(answers, "the server to answer", 60)
    return process


def has_ended(bell: Workbell, run: Run) -> bool:
    return bell.get(run.id).status.final


def test_an_agent_outlives_its_server(site: Site, port: int) -> None:
    with Workbell(site.url) as bell:
        server = serve(site, port)
        text = bell.agents.pairing("web-1", labels=["gpu"]).text
        answer = call(site.gates, "agent", "pair", "--url", f"http://127.0.0.1:{port}", "--token", text)
        assert answer.code == 0, answer
        token_file = site.gates / "agent.token"
        assert stat.S_IMODE(token_file.stat().st_mode) == 0o600
        config = site.gates / "agent.toml"
        config.write_text(f'app = "agent_jobs:bell"\n{config.read_text()}{CONFIG}')
        first = [bell.enqueue("quick", {"number": number}, target="web-1") for number in range(20)]
        waiting = bell.enqueue("gated", {"gate": "open"}, target="label:gpu")
        agent = site.run_command(command("agent"))
        until(lambda: all(has_ended(bell, run) for run in first), "the first runs to end")
        until(lambda: bell.get(waiting.id).status is Status.RUNNING, "the gated run to start")

        kill(server)
        (site.gates / "open").touch()  # what comes of it must be told to the next server
        evil = "; touch pwned $(touch pwned) `touch pwned` && touch pwned"
        second = [bell.enqueue("quick", {"number": number}, target="web-1") for number in range(20)]
        shown = bell.enqueue("show", {"text": evil}, target="web-1")
        refused = bell.enqueue("broken", {}, target="web-1")
        server = serve(site, port)
        every = [*first, waiting, *second, shown]
        until(lambda: all(has_ended(bell, run) for run in every), "all runs to end")
        until(lambda: bell.get(refused.id).failures > 0, "the failure to be told")

        assert {bell.get(run.id).status for run in every} == {Status.SUCCEEDED}
        assert bell.get(waiting.id).result == "passed"
        assert [bell.get(run.id).result for run in second] == [{"number": number} for number in range(20)]
        assert bell.get(shown.id).result == {"exit_code": 0, "output": f"{evil}|x{evil}|"}
        assert not (site.gates / "pwned").exists()
        assert "ValueError: no" in (bell.get(refused.id).error or "")
        assert [line.message for line in bell.logs(second[7].id)] == ["number 7"]
        assert bell.get(second[7].id).progress == {"done": 7, "total": 100, "message": "here"}
        starts = (site.gates / "starts").read_text().split("\n")[:-1]
        assert len(starts) == len(set(starts)) == 41, "a handler was called twice"
        assert {len(bell.attempts(run.id)) for run in every} == {1}

        left = bell.enqueue("gated", {"gate": "never"}, target="web-1")
        stopped = bell.enqueue("gated", {"gate": "never"}, target="web-1")
        until(lambda: bell.get(stopped.id).status is Status.RUNNING, "both gated runs to start")
        agent.send_signal(signal.SIGTERM)
        agent.send_signal(signal.SIGINT)
        assert agent.wait(30) == 0
        assert {bell.get(run.id).status for run in (left, stopped)} == {Status.QUEUED}, "they are handed back"


def test_what_an_agent_refuses(tmp_path: Path) -> None:
    config, token = tmp_path / "agent.toml", tmp_path / "agent.token"
    assert_refused(call(tmp_path, "agent"), 78, "workbell agent pair")
    answer = call(tmp_path, "agent", "pair", "--url", "http://example.com", "--token", "x")
    assert_refused(answer, 78, "no TLS", "insecure")
    config.write_text('url = "http://127.0.0.1:1"\n' + CONFIG)
    token.write_text("wb_x")
    token.chmod(0o644)
    assert_refused(call(tmp_path, "agent"), 78, "others can read it", "chmod 600")

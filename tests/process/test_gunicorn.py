"""gunicorn itself, as the page about it says: with `--preload`, through a reload, and with an engine in each process.

What a fork does to a Workbell is tested without it in tests/faults/test_prefork.py.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path
from urllib.request import ProxyHandler, build_opener

from tests.support.environment import without_settings
from tests.support.waiting import until
from workbell import Workbell
from workbell.settings import Settings

WSGI = """
import os

from workbell import Workbell

bell = Workbell()


@bell.job
def charge(order: int) -> int:
    return order


charge.enqueue(-1)  # the parent uses the store before it forks


def app(environ, start_response):
    charge.enqueue(int(environ["PATH_INFO"].strip("/")))
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [str(os.getpid()).encode()]
"""
ASGI = """
from starlette.applications import Starlette

from workbell import Workbell

bell = Workbell()


@bell.job
def charge(order: int) -> int:
    return order


app = Starlette(lifespan=bell.lifespan)
"""
PROCESSES = 2
START = 60.0  # seconds for the processes to load, on a machine that is busy
CLIENT = build_opener(ProxyHandler({}))


class Gunicorn:
    """A running gunicorn, and requests to it."""

    def __init__(self, process: subprocess.Popen[bytes], port: int, log: Path) -> None:
        self.process = process
        self.port = port
        self._log = log

    def order(self, number: int) -> int:
        """Send a request; the process that answered it."""
        with CLIENT.open(f"http://127.0.0.1:{self.port}/{number}", timeout=START) as answer:
            return int(answer.read())

    def reload(self) -> None:
        self.process.send_signal(signal.SIGHUP)

    def stop(self) -> None:
        """End it as an init system does, and expect that it ends in order."""
        self.process.terminate()
        assert self.process.wait(START) == 0, self._log.read_text()


@contextmanager
def serving(folder: Path, url: str, source: str, *options: str) -> Iterator[Gunicorn]:
    (folder / "gunicorn_shop.py").write_text(source, "utf-8")
    log = folder / "gunicorn.log"
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        output = stack.enter_context(log.open("wb"))
        command = ["-m", "gunicorn", f"--workers={PROCESSES}", f"--bind=fd://{listener.fileno()}", *options]
        process = subprocess.Popen(
            [sys.executable, *command, "--no-control-socket", "gunicorn_shop:app"],
            cwd=folder,
            env=without_settings("GUNICORN_") | {"WORKBELL_URL": url},
            pass_fds=[listener.fileno()],
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            yield Gunicorn(process, listener.getsockname()[1], log)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def test_web_processes_of_a_preloaded_application_enqueue_through_a_reload(sql_store_url: str, tmp_path: Path) -> None:
    with serving(tmp_path, sql_store_url, WSGI, "--preload") as server:
        before = {server.order(number) for number in range(20)}
        server.reload()
        sent = 20

        def answered_by_a_new_one() -> bool:
            nonlocal sent
            pid = server.order(sent)
            sent += 1
            return pid not in before

        until(answered_by_a_new_one, "a request that a new process answers", START)
        for number in range(sent, sent + 20):
            server.order(number)
        server.stop()
    assert server.process.pid not in before
    with Workbell(settings=Settings(url=sql_store_url)) as bell:
        orders = sorted(run.input["order"] for run in bell.runs(limit=1000))
    assert orders == [-1, *range(sent + 20)]


def test_engines_in_the_web_processes_fire_a_schedule_once_and_hand_back_at_the_end(
    sql_store_url: str, tmp_path: Path
) -> None:
    worker_class = "--worker-class=uvicorn_worker.UvicornWorker"
    with (
        Workbell(settings=Settings(url=sql_store_url)) as bell,
        serving(tmp_path, sql_store_url, ASGI, worker_class) as server,
    ):
        until(lambda: len(bell.workers()) == PROCESSES, "the engines of the web processes", START)
        soon = bell.store.clock.now() + timedelta(seconds=0.2)
        bell.schedules.put("once", job="charge", at=soon, input={"order": 7})
        until(lambda: bell.runs(status="succeeded"), "the run of the schedule", START)
        server.stop()
        assert [run.result for run in bell.runs()] == [7]
        assert [tick.outcome.value for tick in bell.schedules.ticks("once")] == ["fired"]
        assert bell.workers() == [], "each has signed off"

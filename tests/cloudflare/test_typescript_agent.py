"""A Worker as an agent (`examples/typescript_agent`), in Cloudflare's own runtime, against our real HTTP service."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.cloudflare.miniflare import DEADLINE, HERE, ROOT, Node
from tests.support.command_line import call
from tests.support.imported import DUE
from tests.support.kumofire import content, run, run_id, schema, write
from tests.support.served import Served, served
from tests.support.waiting import until
from tests.support.warm import SOURCE
from workbell import Retry, Run, Status, Workbell
from workbell.settings import Settings

EXAMPLE = ROOT / "examples" / "typescript_agent"
LABEL = "label:typescript"
LEASE = 5  # the shortest


class Scene:
    """The service with its engine, and the Worker."""

    def __init__(self, server: Served, worker: Node) -> None:
        self.bell = server.bell
        self._worker = worker

    def enqueue(self, job: str, input: dict[str, Any] | None = None, **options: Any) -> Run:
        return self.bell.enqueue(job, input, target=LABEL, **options)

    def send(self, *bodies: Any) -> None:
        """Messages to the Worker's queue."""
        self.post("/send", list(bodies))

    def announce(self, *runs: Run) -> None:
        self.send(*({"version": 1, "run": run.id} for run in runs))

    def post(self, path: str, body: Any = None) -> None:
        url = f"http://127.0.0.1:{self._worker.port}{path}"
        httpx2.post(url, json=body, timeout=DEADLINE).raise_for_status()

    def wait(self, run: Run) -> Run:
        return self.bell.wait(run.id, timeout=DEADLINE)


@contextmanager
def opened(folder: Path, *, engine: bool, **secrets: str) -> Iterator[Scene]:
    with ExitStack() as stack:
        settings = Settings(url=f"sqlite:///{folder}/workbell.db", http_port=0, sweep=0.5)
        bell = stack.enter_context(Workbell(settings=settings))
        server = stack.enter_context(served(bell))
        if engine:
            stack.enter_context(server.working())
        token = bell.agents.pair(bell.agents.pairing("worker", labels=["typescript"]).text).text
        bindings = {"WORKBELL": server.url, "AGENT_TOKEN": token, "LEASE": str(LEASE)}
        if not engine:
            bindings["DISPATCH_TOKEN"] = bell.tokens.create("cron", scopes=["dispatch"], tenant="*").text
        handlers = str(HERE / "agent_handlers.mjs")
        worker = Node(folder, "agent_harness.mjs", str(EXAMPLE), handlers, json.dumps(bindings | secrets))
        stack.callback(worker.stop)
        yield Scene(server, worker)


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with opened(tmp_path_factory.mktemp("agent"), engine=True) as scene:
        yield scene


def test_without_an_engine_the_cron_trigger_dispatches(tmp_path: Path) -> None:
    """Schedules fire, and what is due is queued, by the Worker alone."""
    with opened(tmp_path, engine=False) as scene:
        run = scene.enqueue("mail", {"to": "later"}, delay=0.5)
        once = datetime.now(UTC) + timedelta(seconds=0.5)
        scene.bell.schedules.put("soon", job="mail", at=once, target=LABEL, input={"to": "once"})

        def results() -> list[object]:
            scene.post("/cron")
            ids = [run.id, *(tick.run or "" for tick in scene.bell.schedules.ticks("soon"))]
            return [scene.bell.get(one).result for one in ids]

        until(lambda: results() == [{"sent": "later"}, {"sent": "once"}], "both have run", DEADLINE)


@pytest.mark.parametrize("secret", ["AGENT_TOKEN", "DISPATCH_TOKEN"])
def test_a_wrong_token_fails_the_cron_trigger(secret: str, tmp_path: Path) -> None:
    """It is seen in Cloudflare's list of its invocations; an agent that did nothing would look idle."""
    with opened(tmp_path, engine=False, **{secret: "wb_wrong"}) as scene, pytest.raises(httpx2.HTTPStatusError):
        scene.post("/cron")


def test_a_message_is_a_run(scene: Scene) -> None:
    """Ours and Kumofire's; one that comes twice changes nothing."""
    ours, theirs = scene.enqueue("mail", {"to": "ada"}), scene.enqueue("nothing")
    scene.announce(ours, ours)
    scene.send({"version": 1, "kumofireJobRunId": theirs.id}, {"version": 2, "run": "x"}, {"other": 1}, "text")
    done = scene.wait(ours)
    assert (done.status, done.result, done.attempt) == (Status.SUCCEEDED, {"sent": "ada"}, 1)
    assert (scene.wait(theirs).result, scene.bell.attempts(ours.id)[0].worker) == (None, done.worker)
    assert done.worker is not None
    assert done.worker.startswith("agent/")


def test_a_failure_is_tried_again(scene: Scene) -> None:
    """The retry waits in the store; the cron trigger finds it."""
    run = scene.enqueue("fails", retry=Retry(attempts=3, delay=0))
    scene.announce(run)
    until(lambda: scene.bell.get(run.id).failures == 1, "the first attempt has failed")
    assert scene.bell.get(run.id).error == "TypeError: not yet"
    until(lambda: scene.bell.get(run.id).status is Status.QUEUED, "the retry is due")
    scene.post("/cron")
    done = scene.wait(run)
    assert (done.status, done.result, done.failures) == (Status.SUCCEEDED, 2, 1)


@pytest.mark.parametrize(
    ("job", "error"), [("gives_up", "Error: never"), ("unknown", "there is no handler for the job unknown")]
)
def test_a_failure_for_good(job: str, error: str, scene: Scene) -> None:
    run = scene.enqueue(job)
    scene.announce(run)
    done = scene.wait(run)
    assert (done.status, done.error, done.failures) == (Status.FAILED, error, 1)


def test_a_long_run_keeps_its_lease(scene: Scene) -> None:
    run = scene.enqueue("slow", {"seconds": LEASE + 3})
    scene.announce(run)
    done = scene.wait(run)
    assert (done.status, done.attempt, done.losses) == (Status.SUCCEEDED, 1, 0)
    assert done.started_at is not None
    assert done.finished_at is not None
    assert (done.finished_at - done.started_at).total_seconds() > LEASE


def test_a_cancel_reaches_the_handler(scene: Scene) -> None:
    run = scene.enqueue("stops")
    scene.announce(run)
    until(lambda: scene.bell.get(run.id).status is Status.RUNNING, "it runs")
    scene.bell.cancel(run.id, "changed my mind")
    done = scene.wait(run)
    assert (done.status, done.reason) == (Status.CANCELED, "changed my mind")


def test_what_is_paused_waits(scene: Scene) -> None:
    scene.bell.pauses.pause(job="mail")
    run = scene.enqueue("mail", {"to": "bob"})
    scene.announce(run)
    time.sleep(1)
    assert scene.bell.get(run.id).status is Status.QUEUED
    scene.bell.pauses.resume(job="mail")
    scene.post("/cron")
    assert scene.wait(run).status is Status.SUCCEEDED


def test_what_was_imported_is_worked_off(scene: Scene, tmp_path: Path) -> None:
    """Runs of Kumofire with their ids, by its own messages that were in flight, and by the cron trigger."""
    ulid = "01JQ4Z9V3K8M2N5P7R9T1W3X5Y"
    rows = [*content(datetime.now(UTC)), run(30, "queued", id=ulid)]
    database = write(tmp_path / "kumofire.db", [*schema(), *rows])
    arguments = ("import", "kumofire", "--from", str(database), "--to", scene.bell.settings.url, "--target", LABEL)
    answer = call(tmp_path, *arguments, PYTHONPATH=str(SOURCE))
    assert answer.code == 0, answer
    scene.send(*({"version": 1, "kumofireJobRunId": one} for one in (run_id(3), run_id(5), ulid)))
    assert scene.bell.wait(ulid, timeout=DEADLINE).result == {"sent": "n30"}
    assert scene.bell.wait(run_id(3), timeout=DEADLINE).result == {"sent": "n3"}
    until(lambda: scene.bell.get(run_id(2)).status is Status.QUEUED, "the retry is due")
    scene.post("/cron")
    assert {scene.bell.wait(run_id(number), timeout=DEADLINE).status for number in DUE} == {Status.SUCCEEDED}
    assert scene.bell.get(run_id(8)).result == 3
    assert scene.bell.get(run_id(6)).error == "no such address"

"""A store of a third party, found by its entry point, in every process that opens one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.support.command_line import Answer, command, environment
from tests.support.processes import kill
from tests.support.project_folder import HOURLY, ProjectFolder
from tests.support.third_party import install
from tests.support.waiting import until
from tests.support.warm import SOURCE
from workbell import Status, Workbell

HERE = HOURLY + "import os\ndef run(ctx):\n    return os.getpid()\n"
APART = HOURLY + "import os\nisolate = 'process'\ndef run(ctx):\n    return os.getpid()\n"
KILLS = HOURLY + "import os\ndef run(ctx):\n    return ctx.run.attempt == 2 or os.kill(os.getpid(), 9)\n"
URL = "renamed+sqlite:///x.db"


class Scene(ProjectFolder):
    """A project in whose processes the third party's package is installed."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.site = install(folder / "site")
        path = os.pathsep.join([str(SOURCE), str(self.site)])
        # A lease this long cannot end within the test: what a dead worker held, the keeper gives back.
        self.environment = environment(WORKBELL_POLL="0.05", WORKBELL_LEASE="3600", PYTHONPATH=path)

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(command(*arguments), cwd=self.folder, env=self.environment)

    def call(self, *arguments: str) -> Answer:
        done = subprocess.run(
            command(*arguments), cwd=self.folder, env=self.environment, capture_output=True, text=True
        )
        return Answer(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    scene = Scene(tmp_path / "project")
    monkeypatch.syspath_prepend(scene.site)
    yield scene
    sys.modules.pop("renamed_store", None)


def test_a_service_on_it(scene: Scene) -> None:
    """Workers, processes of their own for handlers, the keeper, and commands beside them."""
    for name, text in (("here", HERE), ("apart", APART), ("kills", KILLS)):
        scene.write(f"jobs/{name}.py", text)
    service = scene.start("start", "--url", URL)
    try:
        with Workbell(f"renamed+sqlite:///{scene.folder / 'x.db'}") as bell:

            def is_known(job: str) -> bool:
                assert service.poll() is None, "the service has ended"
                return bell.store.jobs.find("default", job) is not None

            ended = {}
            for job in ("here", "apart", "kills"):
                until(lambda job=job: is_known(job), f"the job {job} to be declared", 60)
                ended[job] = bell.wait(bell.enqueue(job).id, timeout=60)
            assert {run.status for run in ended.values()} == {Status.SUCCEEDED}
            assert ended["here"].result != ended["apart"].result
            assert ended["kills"].attempt == 2
        listed = scene.call("runs", "list", "--url", URL, "--json")
        assert listed.code == 0, listed
        # And those of a tick, if a minute has begun meanwhile.
        assert {run["id"] for run in msgspec.json.decode(listed.out)} >= {run.id for run in ended.values()}
    finally:
        service.terminate()
        try:
            service.wait(60)
        finally:
            kill(service)


def test_commands_that_only_look_do_not_make_its_file(scene: Scene) -> None:
    listed = scene.call("runs", "list", "--url", URL)
    assert listed.code == 0, listed
    assert f"The store is {URL}, which is not there yet" in listed.out
    assert not (scene.folder / "x.db").exists()


def test_an_unknown_scheme_is_one_line(scene: Scene) -> None:
    scene.write("jobs/here.py", HERE)
    answer = scene.call("start", "--url", "nowhere://x")
    assert answer.code == 78, answer
    known = "d1+http, d1+https, memory, postgres, postgresql, renamed+sqlite and sqlite"
    assert f"'nowhere' names no store; there are {known}." in answer.error
    assert "Traceback" not in answer.error

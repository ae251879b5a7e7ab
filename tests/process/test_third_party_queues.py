"""A queue of a third party, found by its entry point, in the processes of `workbell start`."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.support.command_line import command, environment
from tests.support.processes import kill
from tests.support.project_folder import HOURLY, ProjectFolder
from tests.support.third_party import install_queue
from tests.support.waiting import until
from tests.support.warm import SOURCE
from workbell import Status, Workbell

HERE = HOURLY + "def run(ctx):\n    return 'here'\n"


def test_a_service_with_it(tmp_path: Path) -> None:
    """What a command enqueues is announced, and taken by the workers; the scheduler takes nothing away from them."""
    project = ProjectFolder(tmp_path / "project")
    project.write("jobs/here.py", HERE)
    project.write("workbell.toml", f'url = "sqlite:///x.db"\nqueue_url = "folder://{tmp_path / "queue"}"\n')
    path = os.pathsep.join([str(SOURCE), str(install_queue(tmp_path / "site"))])
    variables = environment(PYTHONPATH=path)

    def messages() -> list[Path]:
        return list((tmp_path / "queue").rglob("*@*"))

    def enqueue() -> None:
        done = subprocess.run(command("jobs", "run", "here"), cwd=project.folder, env=variables, capture_output=True)
        assert done.returncode == 0, done

    scheduler = subprocess.Popen(command("start", "--processes", "0"), cwd=project.folder, env=variables)
    service = None
    try:
        with Workbell(f"sqlite:///{project.folder / 'x.db'}") as bell:
            until((tmp_path / "project" / "x.db").exists, "the store to be made", 60)
            until(lambda: bell.store.jobs.find("default", "here") is not None, "the job to be declared", 60)
            enqueue()
            assert len(messages()) == 1, "no worker is there to take it"
            kill(scheduler)
            service = subprocess.Popen(command("start"), cwd=project.folder, env=variables)
            until(lambda: len(bell.runs(status=[Status.SUCCEEDED])) == 1, "the run to end", 60)
            until(lambda: messages() == [], "the message to be taken and acknowledged")
            enqueue()
            until(lambda: len(bell.runs(status=[Status.SUCCEEDED])) == 2, "the run to end", 60)
            until(lambda: messages() == [], "the message to be taken and acknowledged")
    finally:
        for process in (scheduler, service):
            if process is not None:
                process.terminate()
                try:
                    process.wait(60)
                finally:
                    kill(process)

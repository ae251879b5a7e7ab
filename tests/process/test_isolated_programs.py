"""How a process of its own finds its job again: in each way in which a worker can be started."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.command_line import environment
from tests.support.processes import kill
from tests.support.project_folder import HOURLY, ProjectFolder
from tests.support.waiting import until
from workbell import Run, Status, Workbell

SHOP = """
import os
from workbell import Workbell

bell = Workbell()

@bell.job(isolate="process")
def in_code():
    return [os.getpid(), __name__]
"""
GUARDED = """
if __name__ == "__main__":
    bell.run()
"""
FILE = HOURLY + "import os\nisolate = 'process'\ndef run(ctx):\n    return [os.getpid(), __name__]\n"
BY_RECIPE = """
from workbell.boot.recipe import Recipe, load_jobs, make
from workbell.settings import find_file, load

bell = make(Recipe(load(file=find_file()), "."))
load_jobs(bell, ".")
bell.run()
"""

# The hooks are in a module that the job's own does not import.
HOOKS = """
import os
from contextvars import ContextVar
from base import bell

seen = ContextVar("seen", default=None)
started = []

@bell.on_worker_start
def starts():
    started.append(os.getpid())

@bell.around_run
def outer(ctx):
    seen.set(f"outer {ctx.run.job}")
    yield

@bell.around_run
def inner():
    seen.set(f"{seen.get()} inner")
    yield
"""
BASE = "from workbell import Workbell\nbell = Workbell()\n"
WRAPPED = """
import os
import sys
from base import bell

@bell.job(isolate="process")
def in_code():
    hooks = sys.modules.get("hooks")
    return [os.getpid(), None if hooks is None else [hooks.seen.get(), hooks.started == [os.getpid()]]]
"""
WRAPPED_FILE = (
    HOURLY
    + """
import os
import sys
isolate = 'process'
async def run(ctx):
    hooks = sys.modules.get("hooks")
    return [os.getpid(), None if hooks is None else [hooks.seen.get(), hooks.started == [os.getpid()]]]
"""
)

Start = Callable[..., Callable[[str], Run]]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a program in a project's folder; the answer enqueues a job there, and waits for its end."""
    with ExitStack() as stack:

        def begin(program: list[str], **files: str) -> Callable[[str], Run]:
            project = ProjectFolder(tmp_path / "project")
            project.write("workbell.toml", files.pop("toml", ""))
            for name, text in files.items():
                project.write(f"{name.replace('__', '/')}.py", text)
            process = subprocess.Popen(
                [sys.executable, *program], cwd=project.folder, env=environment(WORKBELL_POLL="0.05")
            )
            stack.callback(kill, process)
            bell = stack.enter_context(Workbell(f"sqlite:///{project.folder / 'workbell.db'}"))

            def run(job: str) -> Run:
                def is_known() -> bool:
                    assert process.poll() is None, "the program has ended"
                    return (project.folder / "workbell.db").exists() and bell.store.jobs.find(
                        "default", job
                    ) is not None

                bell.store.check()
                until(is_known, f"the job {job} to be declared", 60)
                ended = bell.wait(bell.enqueue(job).id, timeout=60)
                assert ended.result is None or ended.result[0] != process.pid
                return ended

            return run

        yield begin


def test_a_program_that_runs_its_jobs_itself(start: Start) -> None:
    run = start(["shop.py"], shop=SHOP + GUARDED, jobs__in_file=FILE)
    ended = run("in_code")
    assert ended.status is Status.SUCCEEDED, ended.error
    assert ended.result[1] == "__mp_main__"
    ended = run("in_file")
    assert ended.status is Status.SUCCEEDED, ended.error
    assert ended.result[1] == "jobs.in_file"


def test_an_app_that_the_command_line_has_loaded(start: Start) -> None:
    run = start(["-c", BY_RECIPE], toml='app = "shop:bell"\n', shop=SHOP, jobs__in_file=FILE)
    ended = run("in_code")
    assert ended.status is Status.SUCCEEDED, ended.error
    process, module = ended.result
    assert module == "shop"
    assert run("in_file").result == [process, "jobs.in_file"]


def test_a_program_that_would_run_itself_again(start: Start, capfd: pytest.CaptureFixture[str]) -> None:
    run = start(
        ["shop.py"],
        shop=SHOP.replace('process"', 'process", retry=Retry(attempts=1)').replace(
            "import Workbell", "import Retry, Workbell"
        )
        + "bell.run()\n",
    )
    ended = run("in_code")
    assert (ended.status, ended.reason) == (Status.FAILED, "isolate")
    assert "ended while it was starting" in (ended.error or "")
    assert 'below if __name__ == "__main__":' in capfd.readouterr().err


@pytest.mark.parametrize("by_recipe", [False, True])
def test_hooks_are_around_handlers_in_processes_of_their_own(start: Start, by_recipe: bool) -> None:
    """Also where the module of the job does not import that of the hooks, and for job files; and the start is once."""
    shop = "import hooks\nimport jobs_of_shop\nfrom base import bell\n"
    files = {
        "shop": shop + GUARDED,
        "base": BASE,
        "hooks": HOOKS,
        "jobs_of_shop": WRAPPED,
        "jobs__in_file": WRAPPED_FILE,
    }
    program = ["-c", BY_RECIPE] if by_recipe else ["shop.py"]
    run = start(program, toml='app = "shop:bell"\n' if by_recipe else "", **files)
    for job in ("in_code", "in_file", "in_code"):
        ended = run(job)
        assert ended.status is Status.SUCCEEDED, ended.error
        assert ended.result[1] == [f"outer {job} inner", True]


def test_hooks_that_a_process_cannot_find(start: Start) -> None:
    """Rather no run than one without its hooks."""
    hidden = "def declare():\n    @bell.around_run\n    def hidden():\n        yield\n"
    once = SHOP.replace('process"', 'process", retry=1')
    run = start(["shop.py"], shop=once + hidden + GUARDED.replace("bell.run", "declare()\n    bell.run"))
    ended = run("in_code")
    assert (ended.status, ended.reason) == (Status.FAILED, "isolate")
    assert "finds no hook declare.<locals>.hidden" in (ended.error or "")

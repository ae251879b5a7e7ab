"""First minute of a new user: the wheel in a clean environment, `init`, `dev`, and a run on the page in time."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
from playwright.sync_api import expect, sync_playwright

from tests.browser.conftest import ARGUMENTS
from tests.support.chromium import HELP, chromium
from tests.support.clean_venv import CleanVenv, environment, run
from tests.support.waiting import until
from workbell.version import __version__

MOST = 5.0  # seconds from the command to the first run on the page
TRIES = 5  # the best of them counts: other work on the machine may slow down one
OPEN = re.compile(r"^  open  (http://\S+/)\?token=(\S+)$", re.MULTILINE)


@contextmanager
def dev(venv: CleanVenv, folder: Path) -> Iterator[Path]:
    """`workbell dev` in the project of a folder; yields the file with what it prints."""
    output = folder / "output.txt"
    with output.open("wb") as file:
        process = subprocess.Popen(
            [venv.program("workbell"), "dev", "--port", "0"],
            cwd=folder / "demo",
            env=environment(PYTHONUNBUFFERED="1"),
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
        )
    try:
        yield output
        process.terminate()
        assert process.wait(60) == 0, output.read_text()
    finally:
        process.kill()
        process.wait()


def await_url(output: Path) -> re.Match[str]:
    """The printed URL: its address, and the token in it."""
    found = until(lambda: OPEN.search(output.read_text("utf-8")), "the line `open`", 60)
    assert found is not None
    return found


def test_the_wheel_is_what_runs(installed: CleanVenv, tmp_path: Path) -> None:
    assert __version__ in run(installed.program("workbell"), "--version", cwd=tmp_path)
    where = run(installed.program("python"), "-c", "import workbell; print(workbell.__file__)", cwd=tmp_path)
    assert Path(where.strip()).is_relative_to(installed.folder)
    run(installed.program("python"), "-m", "pip", "check", cwd=tmp_path)


def test_dashboard_script_and_api_are_served(installed: CleanVenv, tmp_path: Path) -> None:
    run(installed.program("workbell"), "init", "demo", cwd=tmp_path)
    with dev(installed, tmp_path) as output:
        address = await_url(output)[1]
        token = run(
            installed.program("workbell"), "tokens", "create", "me", "--scope", "read", "-q", cwd=tmp_path / "demo"
        ).strip()
        with httpx2.Client(base_url=address, headers={"Authorization": f"Bearer {token}"}, trust_env=False) as client:
            page = client.get("/runs", headers={"Accept": "text/html"})
            assert page.status_code == 200
            assert page.headers["content-type"].startswith("text/html")
            files = re.findall(r'(?:src|href)="([^"]+\.(?:js|css|svg)[^"]*)"', page.text)
            assert {Path(name).name for name in files} == {"bell.svg", "bundle.css", "bundle.js", "theme.js"}
            debug = client.get("/runs?debug", headers={"Accept": "text/html"})
            assert debug.text == page.text, "a wheel has no single files"
            for name in files:
                answer = client.get(name)
                assert answer.status_code == 200, name
                assert len(answer.content) > 100, name

            def ran() -> bool:
                runs = client.get("/api/v1/runs").json()["items"]
                return any(run["job"] == "hello" and run["status"] == "succeeded" for run in runs)

            until(ran, "a run of hello", 60)
            assert client.get("/openapi.json").json()["info"]["version"]


def test_the_first_run_is_on_the_page_within_five_seconds(installed: CleanVenv, tmp_path: Path) -> None:
    """`workbell dev`, a click on the URL that it prints, and a run that succeeded, in a real browser."""
    path = chromium()
    if path is None:
        pytest.skip(HELP)
    taken: list[float] = []
    with sync_playwright() as playwright, playwright.chromium.launch(executable_path=path, args=ARGUMENTS) as browser:
        while len(taken) < TRIES and min(taken, default=MOST) >= MOST:
            folder = tmp_path / str(len(taken))
            folder.mkdir()
            run(installed.program("workbell"), "init", "demo", cwd=folder)
            page = browser.new_context().new_page()
            began = time.monotonic()
            with dev(installed, folder) as output:
                page.goto(await_url(output)[0].split()[1])
                page.get_by_role("button", name="Sign in").click()
                page.get_by_role("link", name="Runs").first.click()
                row = page.locator("tbody tr").filter(has_text="hello").filter(has_text="succeeded")
                expect(row.first).to_be_visible(timeout=60_000)
                taken.append(time.monotonic() - began)
            page.close()
    print(f"first run on the page: {min(taken):.1f} s")
    assert min(taken) <= MOST, taken

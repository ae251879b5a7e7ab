"""Steps of the Containerfile, its command, its health check and its user; and the services of compose.yaml together.

No image is built: the steps are done in a folder (tests/support/containerfile.py).
"""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import yaml

from tests.support.clean_venv import ROOT
from tests.support.containerfile import Built, read_steps
from tests.support.postgres import free_port
from tests.support.waiting import until

START = 60.0  # seconds


@pytest.fixture(scope="module")
def image() -> Iterator[Built]:
    built = Built(read_steps((ROOT / "Containerfile").read_text("utf-8")))
    yield built
    built.remove()


@contextmanager
def running(image: Built, command: list[str], output: Path, **extra: str) -> Iterator[subprocess.Popen[bytes]]:
    """A container's process; at the end it is stopped as a container is, and must have ended by itself."""
    process = image.start(command, output, **extra)
    try:
        yield process
        process.send_signal(signal.SIGTERM)
        assert process.wait(START) == 0, output.read_text("utf-8")
    finally:
        process.kill()
        process.wait()


def ports() -> dict[str, str]:
    """On this machine the usual ports may be taken, and nobody else needs to reach them."""
    own = {"WORKBELL_HTTP_HOST": "127.0.0.1", "WORKBELL_HTTP_PORT": str(free_port())}
    return own | {"WORKBELL_PROBE": f"127.0.0.1:{free_port()}"}


def succeeded(image: Built, **extra: str) -> list[str]:
    code, text = image.call(["workbell", "runs", "list", "--status", "succeeded", "--json"], **extra)
    assert code == 0, text
    return [run["job"] for run in json.loads(text)]


def test_the_service_starts_works_and_stops(image: Built, tmp_path: Path) -> None:
    """The image's own command, with SQLite in its volume."""
    output, own = tmp_path / "output.txt", ports()
    with running(image, image.command, output, **own) as process:
        until(lambda: process.poll() is not None or image.place("/data/workbell.db").exists(), "the store", START)
        code, said = image.call(["workbell", "jobs", "run", "pack_order", "--input", '{"order": 7, "items": 1}'], **own)
        assert code == 0, said
        until(lambda: "pack_order" in succeeded(image, **own), "a run", START)
    assert "Permission" not in output.read_text("utf-8")


def test_the_health_check_turns_green_and_red(image: Built, tmp_path: Path) -> None:
    own = ports()
    with running(image, image.command, tmp_path / "output.txt", **own):
        until(lambda: image.call(image.healthcheck, **own)[0] == 0, "a green health check", START)
    assert image.call(image.healthcheck, **own)[0] == 1


def test_the_service_can_write_its_data_and_nothing_else(image: Built) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    assert image.user is not None
    data = image.place("/data").stat()
    assert (data.st_uid, data.st_gid, stat.S_IMODE(data.st_mode)) == (*image.user, 0o700)
    for folder in ("/app", "/opt/workbell"):
        top = image.place(folder)
        for path in (top, *top.rglob("*")):
            found = path.lstat()
            assert found.st_uid == 0, path
            assert path.is_symlink() or not found.st_mode & 0o002, path
    assert image.call(["sh", "-c", "echo >> shop.py"])[0] != 0
    assert image.call(["sh", "-c", 'id -u && touch "$HOME/mine"'])[1].split() == [str(image.user[0])]


def test_the_services_of_the_compose_file_work_together(image: Built, empty_postgres_url: str, tmp_path: Path) -> None:
    """A server and two workers start at once on an empty database, and execute runs."""
    services = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))["services"]
    commands = [services["server"]["command"], *[services["worker"]["command"]] * services["worker"]["scale"]]
    with ExitStack() as stack:
        for number, command in enumerate(commands):
            own = ports() | {"WORKBELL_URL": empty_postgres_url}
            stack.enter_context(running(image, command, tmp_path / f"{number}.txt", **own))

        def workers() -> list[str]:
            code, text = image.call(["workbell", "workers", "list", "--json"], WORKBELL_URL=empty_postgres_url)
            return [one["id"] for one in json.loads(text) if one["jobs"]] if code == 0 else []

        until(lambda: len(workers()) == 2, "two workers", START)
        for order in range(3):
            asked = ["workbell", "jobs", "run", "pack_order", "--input", json.dumps({"order": order, "items": 1})]
            assert image.call(asked, WORKBELL_URL=empty_postgres_url)[0] == 0
        until(lambda: succeeded(image, WORKBELL_URL=empty_postgres_url).count("pack_order") == 3, "three runs", START)

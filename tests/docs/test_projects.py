"""The command lines on the pages do what the pages say.

A comment before a block says what the block is: `<!-- file: jobs/x.py -->` is saved as that file, `<!-- shows: … -->`
is what stands in one, `<!-- run -->` is called and must print these lines, `<!-- start -->` goes on in the background,
`<!-- sees -->` are lines that it prints next, and `<!-- stops -->` what it says when Ctrl-C ends it. What
`<!-- shell -->` shows is typed into a shell, curl too, and the answers must have what the page shows of them. With
` in demo` this happens in a folder below; `, exit 1` is the exit code. Numbers, times, ids and tokens may differ.
"""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, STEP, Block, all_blocks, name_of, plain_environment, text_of
from tests.docs.shell import SHIM, Shell, commands, pairs
from tests.support import warm
from tests.support.waiting import until

ID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b[0-9a-f]{8}\b")
TIME = re.compile(r"\b\d{4}-\d\d-\d\dT[\d:.]+Z|\b\w{3}, \d\d \w{3} \d{4} [\d:]+ GMT")
TOKEN = re.compile(r"\bwb_(?:[\w-]{49}|…)")
PERSON = re.compile(r"\bcli:[^\s\"]+")
DOOR = re.compile(r"open +http://127\.0\.0\.1:(\d+)/")
DIGEST = re.compile(r'"[0-9a-f]{24}"')
NUMBER = re.compile(r"<?\d[\d,.:]*(?: (?:ms|s|min|h|d)\b)?")


def steps(page: Path) -> list[tuple[re.Match[str], Block]]:
    found = [(STEP.fullmatch(block.before), block) for block in all_blocks(text_of(page))]
    return [(step, block) for step, block in found if step is not None]


WITH_STEPS = [page for page in PAGES if steps(page)]


def normal(line: str) -> str:
    """A line without what differs from one call to the next."""
    for varying in (ID, TIME, TOKEN, PERSON, DIGEST, NUMBER):
        line = varying.sub("#", line)
    return re.sub(r"[\s─]+", " ", line).strip()


def wanted(lines: list[str]) -> list[str]:
    return [normal(line) for line in lines if normal(line) not in ("", "…")]


class Terminal:
    """A folder in which the steps of a page are done, and the commands that go on in the background."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = plain_environment() | {
            "PYTHONUTF8": "1",
            "PYTHONUNBUFFERED": "1",
            "WORKBELL_TIMEZONE": "UTC",
            "WORKBELL_HTTP_PORT": "0",
        }
        self.output = folder / "output.txt"
        self.started: list[warm.Process] = []
        self.seen = 0  # lines of the output of the one that was started last
        self.opened: Shell | None = None

    def do(self, step: re.Match[str], block: Block) -> None:
        folder = self.folder / (step["folder"] or "")
        match step["kind"]:
            case "file":
                file = folder / step["path"]
                file.parent.mkdir(parents=True, exist_ok=True)
                text = block.text if self.opened is None else self.opened.here(block.text)
                file.write_text(text + "\n", "utf-8")
            case "shows":
                assert (folder / step["path"]).read_text("utf-8").strip() == block.text.strip()
            case "run":
                self.run(folder, block.text.splitlines(), int(step["code"] or 0))
            case "start":
                self.start(folder, block.text.splitlines())
            case "sees":
                self.see(wanted(block.text.splitlines()))
            case "shell":
                self.type(block.text.splitlines())
            case _:
                self.stop(wanted(block.text.splitlines()))

    def run(self, folder: Path, lines: list[str], code: int) -> None:
        """Commands one after the other, with the lines below each; the code is that of the last."""
        places = [place for place, line in enumerate(lines) if line.startswith("$ ")]
        for place, end in zip(places, [*places[1:], len(lines)], strict=True):
            if lines[place].startswith("$ cd "):
                folder /= lines[place].removeprefix("$ cd ")
                continue
            done = warm.run(*called(lines[place]), folder=folder, environment=self.environment)
            printed = done.stdout + done.stderr
            assert done.returncode == (code if end == len(lines) else 0), printed
            shown = [normal(line) for line in printed.splitlines()]
            assert [line for line in wanted(lines[place + 1 : end]) if line not in shown] == [], printed

    def start(self, folder: Path, lines: list[str]) -> None:
        last = [line for line in lines if line.startswith("$ ")][-1]
        self.output, self.seen = self.folder / f"output{len(self.started)}.txt", 0
        with self.output.open("wb") as file:
            self.started.append(
                warm.start("workbell", *arguments(last), folder=folder, environment=self.environment, out=file)
            )

    def type(self, lines: list[str]) -> None:
        """Into a shell, which stays open; the service that was started first is there by then."""
        for command, shown in commands(lines):
            printed = self.shell().run(command)
            has = " ".join(normal(part) for part in pairs(printed))
            text = "\n".join(shown)
            assert [pair for pair in map(normal, pairs(text)) if pair not in has] == [], printed
            plain = [] if pairs(text) and text.lstrip().startswith("{") else wanted(shown)
            seen = [normal(line) for line in printed.splitlines()]
            assert [line for line in plain if line not in seen and not pairs(line)] == [], printed

    def shell(self) -> Shell:
        if self.opened is None:
            found = until(lambda: DOOR.search((self.folder / "output0.txt").read_text("utf-8")), "the service")
            assert found is not None
            self.opened = Shell(self.folder, self.environment, int(found[1]))
        return self.opened

    def see(self, lines: list[str]) -> None:
        """These lines, in this order, after what was seen before."""
        for line in lines:
            until(lambda line=line: self.find(line), f"the line {line!r}")  # type: ignore[misc]

    def find(self, line: str) -> bool:
        printed = [normal(one) for one in self.output.read_text("utf-8", "replace").splitlines()]
        if line not in printed[self.seen :]:
            return False
        self.seen = printed.index(line, self.seen) + 1
        return True

    def stop(self, lines: list[str]) -> None:
        last = self.started[-1]
        last.send_signal(signal.SIGINT)
        assert last.wait(60) == 0
        self.see(lines)

    def close(self) -> None:
        if self.opened is not None:
            self.opened.close()
        for process in self.started:
            process.kill()
            process.wait()


def called(line: str) -> list[str]:
    """The module and the arguments of a command: ours, Django's, or the reader's own pytest."""
    first, *rest = shlex.split(line.removeprefix("$ "))
    if [first, *rest[:2]] == ["python", "-m", "pytest"]:
        return ["pytest", "-p", "no:cacheprovider", "-p", "workbell.testing.plugin", *rest[2:]]
    if first == "django-admin":
        return ["django", *rest]
    if rest[:1] == ["manage.py"]:
        return ["manage", *rest[1:]]
    return ["workbell", *arguments(line)]


def arguments(line: str) -> list[str]:
    first, *rest = shlex.split(line.removeprefix("$ "))
    assert first == "workbell", line
    return rest


@contextmanager
def terminal(folder: Path) -> Iterator[Terminal]:
    opened = Terminal(folder)
    try:
        yield opened
    finally:
        opened.close()


@pytest.mark.parametrize("page", WITH_STEPS, ids=name_of)
def test_commands_do_what_the_page_says(page: Path, tmp_path: Path) -> None:
    with terminal(tmp_path) as opened:
        for step, block in steps(page):
            try:
                opened.do(step, block)
            except AssertionError as error:
                raise AssertionError(f"{name_of(page)}:{block.line}: {error}") from error


def test_pages_with_commands_are_there() -> None:
    """Without any marker the test above would say nothing."""
    names = {name_of(page) for page in WITH_STEPS}
    assert {"README.md", "docs/tutorial.md", "docs/how-to/schedules.md", "docs/how-to/job-files.md"} <= names
    typed = {name_of(page) for page in WITH_STEPS if any(step["kind"] == "shell" for step, _ in steps(page))}
    assert {"docs/how-to/http-api.md", "docs/how-to/agents.md", "docs/agent-protocol.md"} <= typed


def test_a_wrong_line_is_found(tmp_path: Path) -> None:
    """The test of that test: an output or an exit code that is not so fails."""
    with terminal(tmp_path) as opened:
        for text, code in (("$ workbell --version\nworkbell nine", 0), ("$ workbell --version", 1)):
            with pytest.raises(AssertionError):
                opened.run(tmp_path, text.splitlines(), code)
        opened.run(tmp_path, ["$ workbell --version", "workbell 9.9.9"], 0)


SPEAK = "printf"  # stands in for curl


def test_a_wrong_answer_is_found(tmp_path: Path) -> None:
    """The same for what is typed into a shell: a field that is not so, a line that is missing."""
    with terminal(tmp_path) as opened:
        opened.opened = Shell(tmp_path, opened.environment, 1)
        opened.type([f'$ {SPEAK} \'{{"status":"queued","id":7}}\'', '{"id":8,"status":"queued",…}'])
        opened.type(["$ NAME=Ada", f"$ {SPEAK} \\", "    $NAME", "Ada"])
        for shown in ('{"status":"failed",…}', '{"missing":null}', "Hello"):
            with pytest.raises(AssertionError):
                opened.type([f'$ {SPEAK} \'{{"status":"queued"}}\'', shown])


def test_where_there_is_no_curl(tmp_path: Path) -> None:
    """Ours does what the pages ask of it."""
    heard: list[tuple[str, str, str | None, bytes]] = []

    class Server(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            heard.append((self.command, self.path, self.headers["authorization"], body))
            self.send_response(201)
            self.send_header("etag", "x")
            self.end_headers()
            self.wfile.write(b"made")

        do_PUT = do_POST  # noqa: N815  its name is not ours

        def log_message(self, *_: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Server) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            url = f"http://127.0.0.1:{server.server_port}/runs"
            options = ["-s", "-i", "-X", "PUT", "-H", "Authorization: x", "-d", "{}", "-w", "%{http_code}"]
            done = subprocess.run(
                [sys.executable, str(SHIM), url, *options], capture_output=True, text=True, timeout=60
            )
        finally:
            server.shutdown()
            thread.join()
    assert heard == [("PUT", "/runs", "x", b"{}")], done.stderr
    assert done.stdout.startswith("HTTP/1.1 201 Created\n")
    assert "\netag: x\n" in done.stdout
    assert done.stdout.endswith("\n\nmade201")

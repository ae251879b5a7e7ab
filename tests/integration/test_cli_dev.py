"""`workbell dev` with the example project: lines for runs, on a terminal and in a pipe, and a clean end."""

from __future__ import annotations

import os
import pty
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from tests.support import warm
from tests.support.command_line import command, environment
from tests.support.inside.cli import MOST_FRAMES, MOST_WAITING, RunLines
from tests.support.inside.features import Notice
from tests.support.inside.values import LIVE, Lane, Move, describe_error, new_id
from tests.support.waiting import until
from workbell import Run, Status, Workbell

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "first"
LINE = re.compile(r"^\d\d:\d\d:\d\d (\S) (\w+) +[0-9a-f]{8} (\w+) +<?[\d.]+ (?:ms|s) #(\d+) ?(.*)$", re.MULTILINE)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A copy of the example, without what it may have left behind in the checkout."""
    return Path(shutil.copytree(EXAMPLE, tmp_path / "first", ignore=shutil.ignore_patterns("*.db*", "__pycache__")))


@contextmanager
def dev(folder: Path, *arguments: str, **extra: str) -> Iterator[tuple[warm.Process, Path]]:
    """The command, its output going to a file as if to a pipe."""
    output = folder / "output.txt"
    with output.open("wb") as file:
        process = warm.start("workbell", "dev", *arguments, folder=folder, environment=environment(**extra), out=file)
    try:
        yield process, output
    finally:
        process.kill()
        process.wait()


def stop(process: warm.Process, number: signal.Signals) -> None:
    process.send_signal(number)
    assert process.wait(60) == 0


def words(output: Path) -> set[tuple[str, str]]:
    """Which jobs were shown to have come to what."""
    return {(line[1], line[2]) for line in LINE.findall(output.read_text())}


def test_the_example_runs_until_it_is_stopped(shop: Path) -> None:
    wanted = {(job, "succeeded") for job in ("open_shop", "charge_card", "pack_order", "send_parcel")}
    wanted |= {("charge_card", "retry"), ("send_parcel", "snoozed")}
    with dev(shop, "--start", "open_shop", "--concurrency", "7") as (process, output):
        until(lambda: wanted <= words(output), "every job and outcome of the example", 90)
        stop(process, signal.SIGTERM)
    text = output.read_text()
    assert "store sqlite:///shop.db" in text
    assert "jobs  open_shop, charge_card, pack_order, send_parcel" in text
    assert "slots 7" in text
    assert "ConnectionError: the bank did not answer for order" in text
    assert "the courier is not here yet" in text
    assert "\x1b" not in text
    assert re.search(r"\nStopped after [\d.]+ .*: .*\d+ succeeded", text)


def test_started_again_it_goes_on_and_does_not_begin_twice(shop: Path) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        with dev(shop, "--start", "open_shop") as (process, output):
            until(lambda: ("open_shop", "succeeded") in words(output), "the shop to open")
            stop(process, number)
    with Workbell(f"sqlite:///{shop}/shop.db") as bell:
        assert len(bell.runs(job="open_shop", status=LIVE)) == 1
        assert [endpoint.url for endpoint in bell.webhooks.list()] == ["http://127.0.0.1:8399/parcels"]
        assert not bell.runs(status="running")


SLOW = """
import asyncio, threading
from pathlib import Path
from workbell import Workbell

bell = Workbell()

@bell.job
async def on_the_loop() -> None:
    Path("begun").touch()
    await asyncio.Event().wait()

@bell.job
def in_a_thread() -> None:
    Path("begun").touch()
    threading.Event().wait()
"""


@pytest.mark.parametrize("job", ["on_the_loop", "in_a_thread"])
def test_a_second_signal_stops_at_once(job: str, tmp_path: Path) -> None:
    """What was running is handed back, and nothing is spent."""
    (tmp_path / "slow.py").write_text(SLOW)
    with dev(tmp_path, "--app", "slow:bell", "--start", job, WORKBELL_GRACE="3600") as (process, output):
        until((tmp_path / "begun").exists, "the handler to begin")
        process.send_signal(signal.SIGINT)
        until(lambda: "stopping: handlers have 3600 s" in output.read_text(), "the first signal to be heard")
        stop(process, signal.SIGINT)
    assert "released" in output.read_text()
    with Workbell(f"sqlite:///{tmp_path}/workbell.db") as bell:
        (run,) = bell.runs()
        assert (run.status, run.failures, run.error) == (Status.QUEUED, 0, None)


@pytest.mark.parametrize("colour", [True, False], ids=["colour", "NO_COLOR"])
def test_on_a_terminal(colour: bool, shop: Path) -> None:
    ours, theirs = pty.openpty()
    extra = {"TERM": "xterm-256color", "COLUMNS": "100"} | ({} if colour else {"NO_COLOR": "1"})
    process = subprocess.Popen(
        command("dev", "--start", "open_shop"),
        cwd=shop,
        env=environment(**extra),
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    text = ""
    try:
        while "succeeded" not in text:
            text += os.read(ours, 10_000).decode(errors="replace")
        process.send_signal(signal.SIGTERM)
        try:
            while more := os.read(ours, 10_000):
                text += more.decode(errors="replace")
        except OSError:  # the other end is closed
            pass
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    assert "Stopped after" in text
    assert ("\x1b[32m" in text) is colour


# The lines themselves

NOW = datetime(2030, 1, 1, tzinfo=UTC)
RUN = Run(
    "01234567-0000-7000-8000-0123456789ab",
    Lane("default", "default", "send"),
    Status.RUNNING,
    0,
    NOW,
    NOW,
    NOW,
)


def shown(*notices: Notice, encoding: str = "utf-8", trace: bool = False) -> str:
    file = StringIO()
    console = Console(file=file, width=300)
    console.options.encoding = encoding
    lines = RunLines(console, trace=trace)
    lines.on_notices(notices)
    lines.close()
    return file.getvalue()


def moved(move: Move, **changes: object) -> Notice:
    later = NOW + timedelta(seconds=0.25)
    return Notice(move, msgspec.structs.replace(RUN, attempt=2, updated_at=later, started_at=NOW, **changes))


@pytest.mark.parametrize(
    ("notice", "end"),
    [
        (moved(Move.SUCCEED, result_text='{"a":1}'), '✓ send         456789ab succeeded  250 ms #2 {"a":1}'),
        (moved(Move.SUCCEED, result_text='"done"'), "#2 done"),
        (moved(Move.SUCCEED), "#2"),
        (
            moved(Move.FAIL, error="ValueError: no\nline 2", reason="error"),
            "failed     250 ms #2 ValueError: no",
        ),
        (
            moved(Move.FAIL, error="HandlerTimeout: slow", reason="timeout"),
            "#2 timeout: HandlerTimeout: slow",
        ),
        (moved(Move.CANCEL, reason="not needed"), "canceled   250 ms #2 not needed"),
        (
            moved(Move.RETRY, error="ValueError: no", scheduled_for=NOW + timedelta(seconds=2.25)),
            "in 2.0 s: ValueError: no",
        ),
        (moved(Move.SNOOZE, scheduled_for=NOW + timedelta(minutes=10)), "in 10 min"),
        (moved(Move.RELEASE), "released   250 ms #2"),
        # What a run left behind is shown, and neither obeyed by the terminal nor by the library that colours.
        (moved(Move.SUCCEED, result_text='"\\u001b[31m[red]x[/red]\\u0007"'), "#2 [31m[red]x[/red]"),
    ],
)
def test_line(notice: Notice, end: str) -> None:
    text = shown(notice)
    assert text.rstrip().endswith(end)
    assert text.count("\n") == 1
    assert "\x1b" not in text


def failing() -> str:
    try:
        try:
            {}["x"]  # type: ignore[index]
        except KeyError as error:
            raise ValueError("no") from error
    except ValueError as error:
        error.add_note("order 7\x1b[31m")
        return describe_error(error)
    raise AssertionError


def test_the_last_failure_shows_where_it_happened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parent)
    head, *below = shown(moved(Move.FAIL, error=failing(), reason="error")).splitlines()
    assert head.endswith("#2 ValueError: no")
    assert [re.sub(r":\d+ ", ":N ", line.strip()) for line in below] == [
        'test_cli_dev.py:N in failing: raise ValueError("no") from error',
        "Note: order 7 [31m",
        "Caused by: KeyError: 'x'",
        'test_cli_dev.py:N in failing: {}["x"]  # type: ignore[index]',
    ]
    (retried,) = shown(moved(Move.RETRY, error=failing())).splitlines()
    assert re.search(r": ValueError: no \(test_cli_dev\.py:\d+ in failing\)$", retried)


def test_a_long_failure_says_where_the_rest_is() -> None:
    many = ExceptionGroup("many", [ValueError(f"{number}") for number in range(9)])
    error = describe_error(ExceptionGroup("all", [many, many.derive(many.exceptions), ExceptionGroup("x", [many])]))
    text = shown(moved(Move.FAIL, error=error + "\nNote: x" * 30, reason="error"))
    assert text.splitlines()[-1].endswith("more lines: workbell runs show 456789ab")
    assert len(text.splitlines()) == MOST_FRAMES + 2


def test_a_retry_shows_how_long_the_attempt_took() -> None:
    """The run that goes on has forgotten its start, which was told when it was claimed."""
    again = Notice(Move.RETRY, msgspec.structs.replace(RUN, updated_at=NOW + timedelta(seconds=3)))
    assert "retry" in shown(Notice(Move.START, msgspec.structs.replace(RUN, started_at=NOW)), again)
    assert "3.0 s #0" in shown(Notice(Move.START, msgspec.structs.replace(RUN, started_at=NOW)), again)


def test_starts_are_shown_only_as_a_trace() -> None:
    """B11: with the log level debug."""
    assert shown(Notice(Move.START, RUN)) == ""
    assert "started" in shown(Notice(Move.START, RUN), trace=True)


def failures(count: int, error: str = "ValueError: no order {}", move: Move = Move.FAIL) -> list[Notice]:
    """Failures of many runs that differ in a number only."""
    return [moved(move, id=new_id(), error=error.format(number), reason="error") for number in range(count)]


@pytest.mark.parametrize("move", [Move.FAIL, Move.RETRY])
def test_failures_that_are_alike_are_folded(move: Move, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first with its frames, two more as lines, and then their number."""
    monkeypatch.chdir(Path(__file__).parent)
    error = failing().replace("ValueError: no", "ValueError: no order {}", 1).replace('{}["x"]', '{{}}["x"]')
    lines = shown(*failures(210, error, move)).splitlines()
    heads = [line for line in lines if "order" in line and "Note" not in line]
    assert len(heads) == 4, lines
    assert "× 210" in heads[-1]
    assert sum("Caused by" in line for line in lines) == (1 if move is Move.FAIL else 0)
    assert len(lines) <= 10


def test_failures_that_are_not_alike_are_not_folded() -> None:
    """Another job, another kind, another text: each is printed."""
    errors = ["ValueError: no", "TypeError: no", "ValueError: yes"]
    jobs = [Lane("default", "default", name) for name in ("send", "pack")]
    lines = shown(*(moved(Move.FAIL, lane=lane, error=error, reason="error") for error in errors for lane in jobs))
    assert len(lines.splitlines()) == 6
    assert "×" not in lines
    frame = '> File "a.py", line {}, in run\n    raise ValueError("no")'
    places = [f"ValueError: no\nTraceback (most recent call last):\n{frame.format(line)}" for line in range(6)]
    assert "×" not in shown(*(moved(Move.FAIL, error=error, reason="error") for error in places)), "at other lines"
    assert "×" not in shown(*failures(210), trace=True), "a trace has every line"


def test_folds_are_told_while_others_go_on() -> None:
    """A count is printed after a while, also if nothing else happens."""
    file = StringIO()
    lines = RunLines(Console(file=file, width=300))
    lines.on_notices(failures(20))
    until(lambda: "× 20" in file.getvalue(), "the number of failures")
    lines.on_notices(failures(5))
    until(lambda: "× 25" in file.getvalue(), "the number of failures")
    lines.close()
    assert file.getvalue().count("×") == 2


def test_more_than_can_be_read_is_summed_up() -> None:
    """Ten thousand lines a second help nobody, and would hold up the worker."""
    count = 50 * MOST_WAITING
    lines = shown(*[moved(Move.SUCCEED)] * count).splitlines()
    summed = [
        int(found[1].replace(",", "")) for line in lines if (found := re.search(r"… and ([\d,]+) succeeded", line))
    ]
    assert len(lines) < count / 2
    assert sum(summed) + len(lines) - len(summed) == count

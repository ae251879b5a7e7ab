"""Output lines of `workbell dev`: one when a run ends or is delayed. A separate thread prints them.

Failures that are alike, in job, place and text but for numbers, are folded: the first is printed with its frames, two
more as a line each, and the others as a number, every two seconds.

Announcements, such as of a reload, go through the same thread, so that they are printed before their effects.

Notices arrive on the thread that writes results; a slow terminal must not delay it. So they are queued here, and
where more arrive than anybody can read, the surplus is summed up in one line.
"""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import NamedTuple

from rich.console import Console
from rich.text import Text

from workbell.cli.bell import AnyRun
from workbell.cli.output import LINE, can_draw, one_line, print_lines, printable, span
from workbell.model.error_text import own_frame, own_lines
from workbell.model.run import Run
from workbell.model.state import Move
from workbell.notices.bus import Notice

MOST_WAITING = 300
MOST_FRAMES = 20  # lines below a failure
FOLDED = (Move.RETRY, Move.FAIL)
IN_FULL = 3  # failures that are alike, before they are only counted
FOLD_EVERY = 2.0  # seconds between two lines that tell their number
FORGOTTEN = 60.0  # seconds after the last one, before the next is printed in full again
MOST_FOLDS = 200  # kinds of failures that are known at once


class MoveStyle(NamedTuple):
    """Style of a move: symbol, ASCII character, colour, word."""

    symbol: str
    plain: str
    style: str
    word: str


class Announcement(NamedTuple):
    """A line that is not about a run."""

    style: MoveStyle
    text: str
    at: datetime


STYLES = {
    Move.START: MoveStyle("▸", ">", "dim", "started"),
    Move.SUCCEED: MoveStyle("✓", "+", "green", "succeeded"),
    Move.RETRY: MoveStyle("↻", "~", "yellow", "retry"),
    Move.SNOOZE: MoveStyle("◷", "z", "cyan", "snoozed"),
    Move.RELEASE: MoveStyle("↩", "<", "blue", "released"),
    Move.FAIL: MoveStyle("✗", "x", "bold red", "failed"),
    Move.LOSE: MoveStyle("✗", "x", "red", "lost"),
    Move.CANCEL: MoveStyle("⊘", "o", "magenta", "canceled"),
}


class Fold:
    """Failures that are alike: how many there were, and the last of them that is not printed yet."""

    def __init__(self) -> None:
        self.count = 0
        self.seen_at = 0.0
        self.untold: Notice | None = None


class Folds:
    """Folds of the failures of a while, by what they have in common."""

    def __init__(self) -> None:
        self._folds: dict[tuple[str, ...], Fold] = {}
        self._told_at = 0.0

    def add(self, notice: Notice, place: str, now: float) -> int:
        """Which of its kind it is; beyond `IN_FULL` it is kept for the next line that tells their number."""
        words = re.sub(r"[0-9a-f]{8,}|\d+", "#", one_line(notice.run.error or ""))
        key = (notice.move, notice.run.job, place, words)
        fold = self._folds.pop(key, None)
        if fold is None or now - fold.seen_at > FORGOTTEN:
            fold = Fold()
        self._folds[key] = fold  # as the newest
        if len(self._folds) > MOST_FOLDS:
            self._folds = {key: one for key, one in self._folds.items() if one.untold is not None or one is fold}
        fold.count, fold.seen_at = fold.count + 1, now
        if fold.count > IN_FULL:
            if self.wait(now) is None:
                self._told_at = now
            fold.untold = notice
        return fold.count

    def wait(self, now: float) -> float | None:
        """Seconds until numbers are to be told; None: there are none."""
        untold = any(fold.untold is not None for fold in self._folds.values())
        return max(0.0, self._told_at + FOLD_EVERY - now) if untold else None

    def take(self) -> list[tuple[Notice, int]]:
        """The kinds of which failures are not printed yet: the last of each, and how many there were."""
        found = [(fold.untold, fold.count) for fold in self._folds.values() if fold.untold is not None]
        for fold in self._folds.values():
            fold.untold = None
        return found


class RunLines:
    """Listener of the bus that prints."""

    def __init__(self, console: Console, *, trace: bool = False) -> None:
        self._console = console
        self._trace = trace
        self._folder = str(Path.cwd())
        self._symbols = can_draw(console)
        self._seen: Counter[Move] = Counter()
        self._left_out: Counter[Move] = Counter()
        self._started: dict[str, datetime] = {}
        self._folds = Folds()
        self._queue: SimpleQueue[Notice | Announcement | None] = SimpleQueue()
        self._width = 12
        self._thread = threading.Thread(target=self._print_all, name="workbell-lines", daemon=True)
        self._thread.start()

    def on_notices(self, notices: Sequence[Notice]) -> None:
        for notice in notices:
            if notice.move not in STYLES:
                continue
            if notice.move is Move.START and not self._trace:
                self._started[notice.run.id] = notice.run.started_at or notice.run.updated_at
                continue
            self._seen[notice.move] += 1
            if self._queue.qsize() < MOST_WAITING:
                self._queue.put(notice)
            else:
                self._left_out[notice.move] += 1

    def announce(self, style: MoveStyle, text: str) -> None:
        """Print a line that is not about a run."""
        self._queue.put(Announcement(style, text, datetime.now().astimezone()))

    def close(self) -> None:
        """Print what is left. Once is enough; more do nothing."""
        self._queue.put(None)
        self._thread.join()

    def summary(self) -> str:
        """`12 succeeded, 1 failed`."""
        listed = [f"{count:,} {STYLES[move].word}" for move, count in self._seen.items() if move is not Move.START]
        return ", ".join(listed) or "nothing was run"

    def _print_all(self) -> None:
        while True:
            wait = self._folds.wait(time.monotonic())
            if wait == 0:
                self._print_folds()
            try:
                notice = self._queue.get(timeout=wait or None)
            except Empty:
                continue
            if notice is None:
                break
            if isinstance(notice, Announcement):
                self._print(
                    self._begin(notice.at, notice.style), Text(printable(notice.text), notice.style.style), whole=True
                )
                continue
            self._print_notice(notice)
            if self._left_out and self._queue.empty():
                self._print_left_out()
        self._print_folds()
        self._print_left_out()

    def _print_notice(self, notice: Notice) -> None:
        place = own_frame(notice.run.error or "", self._folder) if notice.move in FOLDED else ""
        number = self._folds.add(notice, place, time.monotonic()) if notice.move in FOLDED and not self._trace else 1
        described = self._describe(notice)
        if number > IN_FULL:
            return
        # Of a success the end may be cut off; why something did not work is worth a second line.
        whole = notice.move not in (Move.START, Move.SUCCEED)
        # The position of a retried error; the last error is shown with all its frames.
        where = f" ({printable(place)})" if place and notice.move is Move.RETRY else ""
        self._print(described, Text(what_came(notice.move, notice.run) + where), whole=whole)
        if notice.move is Move.FAIL and number == 1:
            self._print_frames(notice.run)

    def _print_folds(self) -> None:
        for notice, count in self._folds.take():
            style = STYLES[notice.move]
            line = self._begin(notice.run.updated_at, style).append(f"{notice.run.job:{self._width}} ")
            line.append(f"{style.word} {'×' if self._symbols else 'x'} {count:,} ", style=style.style)
            self._print(line, Text(f"like this: {one_line(notice.run.error or '')}"), whole=True)

    def _print_frames(self, run: Run) -> None:
        """Position in the project's own code of a final failure, and its cause."""
        lines = own_lines(run.error or "", self._folder)
        shown = [printable(line) for line in lines[:MOST_FRAMES]]
        if len(lines) > MOST_FRAMES:
            shown.append(f"… {len(lines) - MOST_FRAMES} more lines: workbell runs show {run.id[-8:]}")
        for line in shown:
            self._print(Text(f"{'':11}{line}", style="dim"), Text())

    def _print(self, line: Text, what: Text, *, whole: bool = False) -> None:
        if not self._console.is_terminal:
            self._console.print(line + what, soft_wrap=True)
            self._console.file.flush()
        elif whole and self._console.width - len(line) >= 20:
            print_lines(self._console, [(line, what)])
        else:
            self._console.print(line + what, no_wrap=True, overflow="ellipsis", crop=True)

    def _print_left_out(self) -> None:
        left, self._left_out = self._left_out, Counter()
        if left:
            parts = ", ".join(f"{count:,} {STYLES[move].word}" for move, count in left.items())
            self._print(Text(f"{'':9}… and {parts}", style="dim"), Text())

    def _describe(self, notice: Notice) -> Text:
        run, style = notice.run, STYLES[notice.move]
        self._width = max(self._width, min(len(run.job), 30))
        line = self._begin(run.updated_at, style)
        line.append(f"{run.job:{self._width}} ")
        line.append(f"{run.id[-8:]} ", style="dim")
        line.append(f"{style.word:9}", style=style.style)
        line.append(f" {self._took(notice):>7} #{run.attempt} ", style="dim")
        return line

    def _begin(self, at: datetime, style: MoveStyle) -> Text:
        line = Text().append(f"{at.astimezone():%H:%M:%S} ", style="dim")
        line.append(f"{style.symbol if self._symbols else style.plain} ", style=style.style)
        return line

    def _took(self, notice: Notice) -> str:
        """How long the attempt took. A run that goes on has forgotten when it started; it is noted here."""
        run = notice.run
        if notice.move is Move.START:
            self._started[run.id] = run.started_at or run.updated_at
            return ""
        noted = self._started.pop(run.id, None)
        began = run.started_at or noted
        return "" if began is None else span(run.updated_at - began)


def what_came(move: Move, run: AnyRun, limit: int = LINE) -> str:
    """Text for the result, the error, or when and why the run goes on."""
    error = one_line(run.error or "", limit)
    if move in (Move.RETRY, Move.SNOOZE):
        when = run.scheduled_for.astimezone()
        due = f"again at {when:%H:%M:%S}, in {span(when - run.updated_at)}"
        why = error if move is Move.RETRY else one_line(run.reason or "", limit)
        return f"{due}: {why}" if why else due
    if move is Move.FAIL:
        return f"{run.reason}: {error}" if run.reason not in (None, "error") else error
    if move is Move.CANCEL:
        return one_line(run.reason or "", limit)
    if run.result_text is None:
        return ""
    return one_line(run.result if isinstance(run.result, str) else run.result_text, limit)

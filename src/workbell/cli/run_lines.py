"""Output lines of `workbell dev`: one when a run ends or is delayed. A separate thread prints them.

Announcements, such as of a reload, go through the same thread, so that they are printed before their effects.

Notices arrive on the thread that writes results; a slow terminal must not delay it. So they are queued here, and
where more arrive than anybody can read, the surplus is summed up in one line.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

from rich.console import Console
from rich.text import Text

from workbell.cli.bell import AnyRun
from workbell.cli.output import can_draw, one_line, print_lines, printable, span
from workbell.model.error_text import own_frame, own_lines
from workbell.model.run import Run
from workbell.model.state import Move
from workbell.notices.bus import Notice

MOST_WAITING = 300
MOST_FRAMES = 20  # lines below a failure


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
        while (notice := self._queue.get()) is not None:
            if isinstance(notice, Announcement):
                self._print(
                    self._begin(notice.at, notice.style), Text(printable(notice.text), notice.style.style), whole=True
                )
                continue
            # Of a success the end may be cut off; why something did not work is worth a second line.
            whole = notice.move not in (Move.START, Move.SUCCEED)
            what = Text(what_came(notice.move, notice.run) + self._where(notice))
            self._print(self._describe(notice), what, whole=whole)
            if notice.move is Move.FAIL:
                self._print_frames(notice.run)
            if self._left_out and self._queue.empty():
                self._print_left_out()
        self._print_left_out()

    def _where(self, notice: Notice) -> str:
        """The position of a retried error; the last error is shown with all its frames."""
        frame = own_frame(notice.run.error or "", self._folder) if notice.move is Move.RETRY else ""
        return f" ({printable(frame)})" if frame else ""

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


def what_came(move: Move, run: AnyRun) -> str:
    """Text for the result, the error, or when and why the run goes on."""
    error = one_line(run.error or "")
    if move in (Move.RETRY, Move.SNOOZE):
        when = run.scheduled_for.astimezone()
        due = f"again at {when:%H:%M:%S}, in {span(when - run.updated_at)}"
        why = error if move is Move.RETRY else one_line(run.reason or "")
        return f"{due}: {why}" if why else due
    if move is Move.FAIL:
        return f"{run.reason}: {error}" if run.reason not in (None, "error") else error
    if move is Move.CANCEL:
        return one_line(run.reason or "")
    if run.result_text is None:
        return ""
    return one_line(run.result if isinstance(run.result, str) else run.result_text)

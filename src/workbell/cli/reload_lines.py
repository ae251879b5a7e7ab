"""Output lines of `workbell dev` about job files: loaded, reloaded, broken, fixed, gone."""

from __future__ import annotations

import logging

from workbell.app import Workbell
from workbell.cli.run_lines import MoveStyle, RunLines
from workbell.cli.words import timing_in_words
from workbell.job_files import FileProblem, FolderChange, JobFile

RELOADED = MoveStyle("⟳", "@", "cyan", "reloaded")
BROKEN = MoveStyle("✗", "x", "bold red", "broken")
GONE = MoveStyle("⊘", "o", "yellow", "gone")


class ReloadLines:
    """Listener of the engine; problems at the start have been printed already."""

    def __init__(self, bell: Workbell, lines: RunLines) -> None:
        self._bell = bell
        self._lines = lines
        self._known = set(bell.engine.problems)

    def on_change(self, change: FolderChange) -> None:
        problems = self._bell.engine.problems
        broken = {problem.path for problem in problems}
        for file in change.added:
            if file.path not in broken:
                self._lines.announce(RELOADED, f"loaded {file.path}: {self._when(file)}")
        for file in change.changed:
            if file.path not in broken:
                self._lines.announce(RELOADED, f"reloaded {file.path}: {self._when(file)}")
        for file in change.removed:
            what = "its schedule is switched off" if file.schedule is not None else "events start it no longer"
            self._lines.announce(GONE, f"{file.path} is gone; {what}")
        loaded = {file.path for file in change.loaded}
        for problem in problems:
            if problem not in self._known:
                rest = "The last good version goes on." if problem.path in loaded else "Until then it is left out."
                self._lines.announce(BROKEN, f"{problem} {rest}")
        handled = {file.path for files in (change.added, change.changed, change.removed) for file in files}
        for path in sorted({problem.path for problem in self._known} - broken - handled):
            self._lines.announce(RELOADED, f"{path} is in order again" if path in loaded else f"{path} is gone")
        self._known = set(problems)

    def _when(self, file: JobFile) -> str:
        return "; ".join([*self._ticks(file), *([f"on {', '.join(file.on)}"] if file.on else [])])

    def _ticks(self, file: JobFile) -> list[str]:
        if file.schedule is None:
            return []
        schedule = self._bell.schedules.get(file.name)
        return [timing_in_words(schedule) if schedule.active else f"{timing_in_words(schedule)}; {schedule.reason}"]


class AlreadyPrinted(logging.Filter):
    """Log filter: problems of job files are printed already, so they are not logged too."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not (isinstance(record.args, tuple) and record.args and isinstance(record.args[0], FileProblem))

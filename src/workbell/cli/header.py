"""Header of `workbell dev`: loaded jobs, problems, and the next ticks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from workbell.app import Workbell
from workbell.cli.bell import AnyClient
from workbell.cli.output import can_draw, one_line, print_facts, print_lines
from workbell.cli.project import Project
from workbell.cli.words import due_in, timing_in_words
from workbell.model.schedule import Schedule
from workbell.settings import safe_url
from workbell.version import __version__

if TYPE_CHECKING:
    from rich.console import Console

MOST_SHOWN = 8
PAGE = 1000


def show_header(console: Console, bell: Workbell, project: Project, door: str | None = None) -> None:
    files = [job for job in bell.engine.list() if job.file_path is not None]
    in_files = {job.name for job in files}
    in_code = [job.name for job in bell.registry if job.name not in in_files]
    facts = [("store", safe_url(bell.settings.url))]
    if project.settings.app is not None:
        facts.insert(0, ("app", project.settings.app))
    if files:
        facts.append(("files", ", ".join(job.file_path or "" for job in files)))
    if in_code:
        facts.append(("jobs", ", ".join(in_code)))
    if not files and not in_code:
        facts.append(("jobs", "none yet: `workbell init` writes a first one, jobs/hello.py"))
    facts.append(("slots", str(project.settings.concurrency)))
    console.print(f"[bold]Workbell {__version__}[/bold]")
    print_facts(console, facts)
    if door is not None:
        # One line, however narrow the terminal: a break in it, and blanks, would be part of what a click opens.
        console.print(Text.assemble(("  open  ", "dim"), door), soft_wrap=True)
    _show_problems(console, bell)
    _show_next(console, bell)
    console.print("  Ctrl-C stops it.\n", style="dim")


def _show_problems(console: Console, bell: Workbell) -> None:
    mark = "  ✗ " if can_draw(console) else "  x "
    if bell.engine.problems:
        style = "bold red"
        lines = [(Text(mark, style), Text(str(problem), style)) for problem in bell.engine.problems]
        print_lines(console, lines)


def _show_next(console: Console, bell: Workbell) -> None:
    """The next schedules, of the whole tenant: this process fires them all."""
    schedules = all_schedules(bell)
    coming = sorted((s for s in schedules if s.next_run_at is not None), key=lambda s: (s.next_run_at, s.name))
    if not schedules:
        return
    now = bell.store.clock.now()
    shown = coming[:MOST_SHOWN]
    width = max((len(one_line(schedule.name, 30)) for schedule in shown), default=0)
    lines = []
    for index, schedule in enumerate(shown):
        assert schedule.next_run_at is not None
        start = Text().append("  next  " if index == 0 else "        ", "dim")
        start.append(f"{one_line(schedule.name, 30):{width}}  ")
        lines.append((start, Text(f"{due_in(schedule.next_run_at, now)}: {timing_in_words(schedule)}")))
    rest, off = len(coming) - len(shown), len(schedules) - len(coming)
    more = [f"{rest:,} more"] if rest else []
    more += [f"{off:,} paused, off or over"] if off else []
    if more:
        lines.append((Text("        "), Text(f"and {', '.join(more)}: workbell schedules list", "dim")))
    print_lines(console, lines)


def all_schedules(bell: AnyClient) -> list[Schedule]:
    """Every schedule of the tenant, by name."""
    found: list[Schedule] = []
    while page := bell.schedules.list(after=found[-1].name if found else "", limit=PAGE):
        found += page
        if len(page) < PAGE:
            break
    return found

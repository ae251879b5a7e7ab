"""Output of commands: tables for people, JSON for programs. Control characters of runs never reach the terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TextIO, TypeVar

import click
import msgspec

from workbell.doctor.spans import span as span

if TYPE_CHECKING:  # rich is imported only where something is drawn
    from rich.console import Console
    from rich.progress import Progress
    from rich.table import Table
    from rich.text import Text

Command = TypeVar("Command", bound=Callable[..., Any])

WIDE = "workbell.wide"  # key of a command's context: whether --wide was given
LINE = 200  # letters of a text in a line
WHOLE = 10_000  # of one that is not cut to fit
LEVELS = {"ok": ("✓", "+", "green"), "note": ("•", "-", "yellow"), "risk": ("✗", "!", "bold red")}


def make_console(stream: TextIO | None = None) -> Console:
    """Colours on a terminal that has them, unless NO_COLOR is set; into a pipe, plain text of any width."""
    from workbell.cli.clean_console import CleanConsole

    out = stream or sys.stdout
    reconfigure = getattr(out, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")  # a result in a language that the terminal cannot show is no error
    return CleanConsole(file=out, highlight=False, soft_wrap=not out.isatty(), width=None if out.isatty() else 200)


def wide_option(command: Command) -> Command:
    """`--wide`, for lists whose rows are cut to fit the terminal."""

    def remember(context: click.Context, _option: click.Parameter, wide: bool) -> None:
        context.meta[WIDE] = wide

    return click.option(
        "--wide",
        is_flag=True,
        expose_value=False,
        callback=remember,
        help="Whole ids and texts, also where they do not fit the terminal. Pipes get them anyway.",
    )(command)


def prints_whole(console: Console) -> bool:
    """Whether rows are printed uncut: into a pipe, which leads to a program, or with `--wide`."""
    context = click.get_current_context(silent=True)
    return not console.is_terminal or (context is not None and context.meta.get(WIDE, False))


def can_draw(console: Console) -> bool:
    """Whether symbols beyond ASCII can be shown."""
    return console.encoding.lower().startswith("utf")


def make_table(*columns: str, right: Sequence[str] = (), whole: Sequence[str] = ()) -> Table:
    """A table in the form of `print_rows`; columns in `whole` are never broken, the others where the line ends."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in columns:
        justify: Literal["left", "right"] = "right" if column in right else "left"
        table.add_column(column, justify=justify, overflow="fold", no_wrap=column in whole)
    return table


def print_facts(console: Console, facts: Sequence[tuple[str, str | Text]]) -> None:
    """Print names and values, one pair a line; long values wrap below themselves."""
    from rich.text import Text

    width = max(len(name) for name, _ in facts) + 1
    print_lines(
        console,
        [
            (Text(f"  {name:{width}}", "dim"), value if isinstance(value, Text) else Text(printable(value)))
            for name, value in facts
        ],
    )


def print_lines(console: Console, lines: Sequence[tuple[Text, Text]]) -> None:
    """Lines of two parts; on a terminal the second is broken where the line ends, and goes on below itself."""
    from rich.table import Table

    if not console.is_terminal:
        for first, second in lines:
            console.print(first + second, soft_wrap=True)
        return
    grid = Table.grid()
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for line in lines:
        grid.add_row(*line)
    console.print(grid)


def make_progress() -> Progress:
    """A progress bar on stderr; on anything but a terminal it shows nothing."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from workbell.cli.clean_console import CleanConsole

    console = CleanConsole(file=sys.stderr)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


def echo(text: object = "", *, err: bool = False, nl: bool = True) -> None:
    """Print a text, which may have parts that users chose: nothing of it steers the terminal."""
    click.echo(printable(str(text)), err=err, nl=nl)


def confirm(question: str, *, yes: bool, as_json: bool) -> None:
    """Ask before something is taken away. Programs, which cannot answer, give --yes."""
    if yes:
        return
    if as_json:
        raise click.UsageError("With --json nobody is asked: give --yes.")
    try:
        agreed = click.confirm(question, err=True)
    except click.Abort:
        if sys.stdin.isatty():  # Ctrl-C
            raise
        echo(err=True)
        raise click.UsageError("Nobody has answered: give --yes.") from None
    if not agreed:
        raise click.Abort


def print_json(value: Any) -> None:
    _echo_json(msgspec.json.format(msgspec.json.encode(value), indent=2))


def print_json_line(value: Any) -> None:
    """Print a value as JSON on one line, of which more may follow."""
    _echo_json(msgspec.json.encode(value))


def _echo_json(text: bytes) -> None:
    """JSON means the same with escapes; the encoder leaves control characters beyond ASCII (C1) as they are."""
    letters = text.decode()
    if not letters.isprintable():
        letters = "".join(one if one.isprintable() or one == "\n" else _escaped(one) for one in letters)
    click.echo(letters.encode())  # JSON is UTF-8, whatever the terminal speaks


def _escaped(letter: str) -> str:
    return f"\\u{ord(letter):04x}" if ord(letter) < 0x10000 else json.dumps(letter)[1:-1]


def printable(text: str) -> str:
    """A text without control characters, but for the ends of its lines."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() or letter == "\n" else " " for letter in text)


def one_line(text: str, limit: int = LINE) -> str:
    """The first line of a text, without control characters, and not too long."""
    clean = printable(text.strip().split("\n", 1)[0]).strip()
    return clean if len(clean) <= limit else f"{clean[: limit - 1]}…"

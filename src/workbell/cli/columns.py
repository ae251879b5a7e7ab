"""Table rows with fixed columns; the last column may be long, and is cut or wrapped below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.console import Console
from rich.text import Text

ROOM = 24  # columns that the last part needs to stand beside the others
GAP = "  "


class TableRow(NamedTuple):
    cells: Sequence[Text]
    rest: Text


def print_rows(
    console: Console, names: Sequence[str], last: str, rows: Sequence[TableRow], *, right: Sequence[str] = ()
) -> None:
    """Print a header and the rows; into a pipe, uncut."""
    widths = [max(len(name), *(row.cells[index].cell_len for row in rows)) for index, name in enumerate(names)]
    room = console.width - sum(widths) - len(GAP) * len(widths)
    beside = not console.is_terminal or room >= ROOM
    header = [Text(name, "dim") for name in names]
    _print(console, _joined(header, widths, names, right).append(last if beside else "", "dim"))
    for row in rows:
        line = _joined(row.cells, widths, names, right)
        if beside:
            line.append_text(row.rest)
        _print(console, line)
        if not beside and row.rest:
            _print(console, Text("    ").append_text(row.rest))


def _joined(cells: Sequence[Text], widths: Sequence[int], names: Sequence[str], right: Sequence[str]) -> Text:
    line = Text()
    for cell, width, name in zip(cells, widths, names, strict=True):
        padding = " " * (width - cell.cell_len)
        line.append(padding if name in right else "").append_text(cell)
        line.append(("" if name in right else padding) + GAP)
    return line


def _print(console: Console, line: Text) -> None:
    line.rstrip()
    if console.is_terminal:
        console.print(line, no_wrap=True, overflow="ellipsis", crop=True)
    else:
        console.print(line, soft_wrap=True)

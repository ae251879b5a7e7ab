"""Console of rich whose texts have no control characters: what users chose cannot steer the terminal.

Colours and the moves of a progress bar are not texts: rich keeps them apart as styles and control codes.
"""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from workbell.cli.output import printable


class CleanConsole(Console):
    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=printable(segment.text))

"""Messages about pauses and resumes."""

from __future__ import annotations

from collections.abc import Sequence

from workbell.model.pause import Pause


def paused(pause: Pause) -> str:
    return f"{pause} is paused; `{pause.remedy}` lets it go on."


def resumed(what: str, ended: int, left: Sequence[Pause]) -> str:
    text = f"{what} goes on." if ended else f"{what} was not paused."
    if left:
        text += f" Still paused: {', '.join(str(pause) for pause in left)}."
    return text

"""A scheduler to be killed: looks at the schedules of a store again and again, at the time that a file says.

Run with `python -m`, from the folder that holds the test packages. The store comes from WORKBELL_URL, the recording
goes to RECORDING, and the file `clock` in the folder GATES says how many seconds have passed since the start.
It notes when it is about to write and when it has written; while there is a file `hold` beside the clock, it stays
between the two, to be killed there.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from workbell import Workbell
from workbell.engine.materialise import Materialise
from workbell.errors import StoreUnavailable
from workbell.model.schedule import ScheduleChange

from .many_schedules import START
from .recorder import Recorder
from .worker_app import die_with_parent

PACE = 0.003


def set_clock(folder: Path, seconds: float) -> datetime:
    """For the test: the time in all schedulers, from now on."""
    draft = folder / "clock.new"
    draft.write_text(str(seconds))
    draft.replace(folder / "clock")
    return START + timedelta(seconds=seconds)


def read_clock(folder: Path) -> datetime:
    return START + timedelta(seconds=float((folder / "clock").read_text()))


def main() -> None:
    die_with_parent()
    folder, recorder = Path(os.environ["GATES"]), Recorder(Path(os.environ["RECORDING"]))
    bell = Workbell()
    store: Any = bell.store
    sound = store.schedules.write

    def write(changes: Sequence[ScheduleChange]) -> set[str]:
        recorder.note("writing")
        while (folder / "hold").exists():
            time.sleep(PACE)
        written: set[str] = sound(changes)
        recorder.note("written", count=len(written))
        return written

    store.schedules.write = write
    scheduler = Materialise(store, bell.registry, lambda _: None, 1.0)
    recorder.note("ready")
    while True:
        try:
            delay = scheduler.step(read_clock(folder))
        except StoreUnavailable:
            delay = PACE
        if delay > 0:
            time.sleep(PACE)


if __name__ == "__main__":
    main()

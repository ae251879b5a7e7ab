"""`workbell backup` that stays in the middle of its copy until it is ended: for tests of interrupts.

Run with the name of the backup. The store comes from WORKBELL_URL; RECORDING gets a note when it has begun.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from workbell.cli.main import run
from workbell.stores.sqlite import backup

from .recorder import Recorder
from .worker_app import die_with_parent


def main(target: str) -> None:
    die_with_parent()
    recorder = Recorder(Path(os.environ["RECORDING"]))
    sound = backup._copy

    def slowly(source, copy, report) -> None:
        def stay(done: int, total: int) -> None:
            report(done, total)
            recorder.note("copying")
            time.sleep(60)

        sound(source, copy, stay)

    backup.PAGES = 8
    backup._copy = slowly
    sys.exit(run(["backup", target]))


if __name__ == "__main__":
    main(*sys.argv[1:])

"""The worker process of a measurement: a real engine, or the same in raw SQL, until its stdin is closed."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from workbell.cli.measure.raw import open_raw
from workbell.cli.measure.scene import make_bell, make_job
from workbell.cli.measure.tally import WorkerNumbers


async def work(url: str, tally: WorkerNumbers) -> None:
    bell = make_bell(url)
    make_job(bell, tally)
    with bell:
        async with bell.running():
            tally.ready()
            await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


def main(kind: str, url: str, path: str) -> None:
    tally = WorkerNumbers(Path(path))
    if kind == "engine":
        asyncio.run(work(url, tally))
    else:
        raw = open_raw(url)
        tally.ready()
        raw.drain(tally)
        sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])

"""`workbell bench`: how fast runs are enqueued, processed and started, on a scratch store or yours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from workbell.cli.measure.plan import MeasuredRow, measure
from workbell.cli.measure.raw import open_raw
from workbell.cli.measure.scene import clear, is_ours
from workbell.cli.output import make_console, make_progress, make_table, print_json
from workbell.cli.project import json_option, open_project, opened
from workbell.errors import InvalidOption, StoreError
from workbell.settings import safe_url
from workbell.stores.port import Store


@click.command(help="Measure how fast runs are enqueued, processed and started.")
@click.option("--url", metavar="URL", help="Where to measure; otherwise in a new SQLite file that is removed again.")
@click.option("--runs", type=click.IntRange(100, 1_000_000), default=10_000, show_default=True, help="Runs to process.")
@click.option("--processes", type=click.IntRange(1, 32), default=1, show_default=True, help="Worker processes.")
@click.option("--rounds", type=click.IntRange(1, 100), default=1, show_default=True, help="Repeat; medians are shown.")
@click.option("--raw", is_flag=True, help="Do the same in raw SQL, in turn, and show how much of it is reached.")
@click.option("--latency/--no-latency", default=True, show_default=True, help="Measure enqueue to handler start.")
@click.option("--force", is_flag=True, help="Measure even where the store has work of yours.")
@json_option
def bench(
    url: str | None,
    runs: int,
    processes: int,
    rounds: int,
    raw: bool,
    latency: bool,
    force: bool,
    as_json: bool,
) -> None:
    open_project(url=url)
    with scratch(url) as chosen:
        with opened(chosen) as store:
            store.check()
            _refuse_real_work(store, chosen, force)
        if raw:
            open_raw(chosen).close()  # refused before anything is measured
        try:
            with make_progress() as progress:
                task = progress.add_task("measuring", total=None)
                rows = measure(
                    chosen,
                    runs=runs,
                    processes=processes,
                    rounds=rounds,
                    raw=raw,
                    latency=latency,
                    show_step=lambda what, total: progress.update(task, description=what, total=total),
                    advance=lambda: progress.advance(task),
                )
        finally:
            with opened(chosen) as store:
                clear(store)
    if as_json:
        print_json(_as_json(chosen, runs, processes, rounds, rows))
    else:
        _show(chosen if url else "a new SQLite file", runs, processes, rounds, rows)


@contextmanager
def scratch(url: str | None) -> Iterator[str]:
    """The store to measure on; one of our own goes away again."""
    if url is None:
        with TemporaryDirectory(prefix="workbell-bench-") as folder:
            yield f"sqlite:///{Path(folder) / 'bench.db'}"
    elif url.startswith("memory:"):
        raise InvalidOption("bench measures across processes, and memory:// is one process; name another store.")
    else:
        yield url


def _refuse_real_work(store: Store, url: str, force: bool) -> None:
    live = sum(c.scheduled + c.queued + c.running for c in store.reports.counts() if not is_ours(c.lane))
    if live and not force:
        raise StoreError(
            f"{safe_url(url)} has {live:,} live runs of yours, which a measurement would slow down; "
            "name another store, or give --force."
        )


def _as_json(url: str, runs: int, processes: int, rounds: int, rows: list[MeasuredRow]) -> dict[str, object]:
    values = {row.key: row.value for row in rows}
    details = {row.key: {"value": row.value, "unit": row.unit, "raw": row.raw, "ratio": row.ratio} for row in rows}
    return {
        "store": safe_url(url).split("://")[0],
        "runs": runs,
        "processes": processes,
        "rounds": rounds,
        "jobs_per_second": values["drain"],
        "p50_ms": values.get("p50_ms"),
        "p99_ms": values.get("p99_ms"),
        "details": details,
    }


def _show(where: str, runs: int, processes: int, rounds: int, rows: list[MeasuredRow]) -> None:
    console = make_console()
    workers = "one worker process" if processes == 1 else f"{processes} worker processes"
    often = "once" if rounds == 1 else f"medians of {rounds} rounds"
    console.print(f"{safe_url(where)}: {runs:,} runs, {workers}, {often}\n", markup=False)
    compared = any(row.raw is not None for row in rows)
    columns = ["", "Workbell", "", *(["raw SQL", "of raw"] if compared else [])]
    table = make_table(*columns, right=("Workbell", "raw SQL", "of raw"))
    for row in rows:
        digits = ",.0f" if row.unit.endswith("/s") else ",.1f"
        cells = [row.what, format(row.value, digits), row.unit]
        if compared:
            cells.append("" if row.raw is None else format(row.raw, digits))
            cells.append("" if row.ratio is None else f"{row.ratio:.0%}")
        table.add_row(*cells)
    console.print(table)

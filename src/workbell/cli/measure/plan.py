"""Order of the measurements: ours and raw SQL in turn, so that noise of the machine hits both."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from typing import NamedTuple

from workbell.cli.measure import measures

ONE_BY_ONE = 3000


class MeasuredRow(NamedTuple):
    """A result: the median over the rounds; `ratio` is the median of ours to raw SQL in the same round."""

    key: str
    what: str
    value: float
    unit: str
    raw: float | None = None
    ratio: float | None = None


class Measure(NamedTuple):
    key: str
    what: str
    ours: Callable[[], float]
    raw: Callable[[], float] | None


def measure(
    url: str,
    *,
    runs: int,
    processes: int = 1,
    rounds: int = 1,
    raw: bool = False,
    latency: bool = True,
    show_step: Callable[[str, int], None],
    advance: Callable[[], None],
) -> list[MeasuredRow]:
    """Measure everything, round by round."""
    single = min(runs, ONE_BY_ONE)
    plan = [
        Measure(
            "enqueue_one",
            "enqueue, one by one",
            lambda: measures.enqueue_one(url, single),
            lambda: measures.raw_one(url, single),
        ),
        Measure(
            "enqueue_threads",
            f"enqueue, {measures.THREADS} threads",
            lambda: measures.enqueue_threads(url, runs),
            None,
        ),
        Measure(
            "enqueue_bulk",
            "enqueue, 1,000 a call",
            lambda: measures.enqueue_bulk(url, runs),
            lambda: measures.raw_bulk(url, runs),
        ),
        Measure(
            "drain",
            "work off",
            lambda: measures.drain(url, runs, processes),
            lambda: measures.raw_drain(url, runs, processes),
        ),
    ]
    ours: dict[str, list[float]] = {step.key: [] for step in plan}
    theirs: dict[str, list[float]] = {step.key: [] for step in plan}
    spread: list[list[float]] = []
    total = rounds * (sum(1 + (raw and step.raw is not None) for step in plan) + latency)
    for _ in range(rounds):
        for step in plan:
            show_step(step.what, total)
            ours[step.key].append(step.ours())
            advance()
            if raw and step.raw is not None:
                show_step(f"{step.what} (raw SQL)", total)
                theirs[step.key].append(step.raw())
                advance()
        if latency:
            show_step("enqueue to start", total)
            spread.append(measures.latency(url))
            advance()
    return [_row(step, ours[step.key], theirs[step.key]) for step in plan] + _latencies(spread)


def _row(step: Measure, ours: list[float], theirs: list[float]) -> MeasuredRow:
    ratios = [mine / other for mine, other in zip(ours, theirs, strict=False)]
    raw = median(theirs) if theirs else None
    return MeasuredRow(step.key, step.what, median(ours), "runs/s", raw, median(ratios) if ratios else None)


def _latencies(spread: list[list[float]]) -> list[MeasuredRow]:
    if not spread:
        return []
    return [
        MeasuredRow(
            f"p{share}_ms",
            f"enqueue to start, p{share}",
            median(measures.percentile(found, share / 100) for found in spread),
            "ms",
        )
        for share in (50, 95, 99)
    ]

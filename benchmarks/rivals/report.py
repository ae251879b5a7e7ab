"""Rounds of contests and their table: medians, ranges, and the ratio of each round."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from .systems import Failed, Figures

RESULTS = Path("bench-results")


class Contest(NamedTuple):
    """Contestants that are measured one after the other in every round."""

    key: str
    group: str  # what --only names
    contestants: Mapping[str, Callable[[], Figures]]


class Row(NamedTuple):
    """One line of the table: ours against one other contestant, in one figure of a contest."""

    contest: str
    what: str
    ours: str
    other: str | None = None
    figure: str = "rate"
    unit: str = "/s"
    goal: str = ""  # ">= 1.8" or "<= 0.9", of the ratio; or of the figure if there is no other contestant


class Rounds:
    """Figures of all contests, by round."""

    def __init__(self) -> None:
        self.figures: dict[str, dict[str, list[Figures]]] = {}
        self.errors: list[str] = []

    def play(self, contests: Sequence[Contest], rounds: int) -> None:
        """Play every contest in every round; the order of its contestants turns around each time."""
        for number in range(rounds):
            for contest in contests:
                names = list(contest.contestants)
                for name in names if number % 2 == 0 else reversed(names):
                    began = time.perf_counter()
                    figures: Figures = {}
                    try:
                        figures = contest.contestants[name]()
                    except Failed as error:  # one that fails has an empty cell
                        self.errors.append(f"{contest.key}, {name}, round {number + 1}: {error}")
                    self.figures.setdefault(contest.key, {}).setdefault(name, []).append(figures)
                    shown = "  ".join(f"{key} {value:,.4g}" for key, value in figures.items()) or self.errors[-1]
                    took = time.perf_counter() - began
                    print(f"round {number + 1}  {contest.key:22} {name:26} {shown}  ({took:.0f} s)", flush=True)

    def values(self, contest: str, name: str, figure: str) -> list[float | None]:
        """One figure in each round; None where it could not be measured."""
        return [round_.get(figure) for round_ in self.figures.get(contest, {}).get(name, [])]

    def line(self, row: Row) -> dict[str, Any] | None:
        """A row with its figures; None if its contest was not played."""
        ours = self.values(row.contest, row.ours, row.figure)
        found: dict[str, Any] = {**row._asdict(), "figures": spread(ours)}
        if found["figures"] is None:
            return None
        judged = found["figures"]
        if row.other is not None:
            others = self.values(row.contest, row.other, row.figure)
            found["other_figures"] = spread(others)
            pairs = zip(ours, others, strict=True)
            judged = found["ratio"] = spread([mine / theirs for mine, theirs in pairs if mine and theirs])
        if row.goal and judged is not None:
            sign, bound = row.goal.split()
            found["ok"] = judged["median"] >= float(bound) if sign == ">=" else judged["median"] <= float(bound)
        return found


def spread(values: Sequence[float | None]) -> dict[str, float] | None:
    known = [value for value in values if value is not None]
    return {"median": median(known), "least": min(known), "most": max(known)} if known else None


def show(lines: Sequence[dict[str, Any]], title: str) -> None:
    print(f"\n{title}")
    print(f"{'':42} {'Workbell':26} {'against':16} {'its figure':26} {'ratio':20} goal")
    for line in lines:
        unit, goal = line["unit"], line["goal"].replace(">=", "≥").replace("<=", "≤")
        verdict = {True: "ok", False: "missed", None: ""}[line.get("ok")]
        ratio = line.get("ratio")
        print(
            f"{line['what']:42} {cell(line['figures'], unit):26} {line['other'] or '':16} "
            f"{cell(line.get('other_figures'), unit):26} {cell(ratio, ' x'):20} {goal} {verdict}".rstrip()
        )


def cell(found: Mapping[str, float] | None, unit: str) -> str:
    """Median and range."""
    if found is None:
        return ""
    low, middle, high = (number(found[key]) for key in ("least", "median", "most"))
    return f"{middle}{unit}" + (f" ({low}–{high})" if low != high else "")


def number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def write(name: str, rounds: Rounds, lines: Sequence[dict[str, Any]], **more: Any) -> None:
    """A JSON file with everything."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}.json"
    found = {"machine": platform.platform(), "python": platform.python_version(), **more}
    found |= {"rows": list(lines), "figures": rounds.figures, "errors": rounds.errors}
    path.write_text(json.dumps(found, indent=1) + "\n")
    print(f"\nwrote {path}")

"""Cron expressions at random, all of them well formed."""

from __future__ import annotations

from random import Random

from tests.support.cron_oracle import MONTHS, WEEKDAYS


def make_expression(dice: Random, *, special: bool = True, near: int | None = None, day: int = 1) -> str:
    """An expression; `near` and `day` make it likely to fire about a clock change at that hour of that day.

    Without `special` only what cronsim knows too.
    """
    seconds = f"{_plain(dice, 0, 59)} " if special and dice.random() < 0.2 else ""
    minutes = ["*", "*/5", "*/15", "0", "30", "59", "0,30", "15-45/10", _plain(dice, 0, 59), _plain(dice, 0, 59)]
    days = ["*", "*", "*", "*", "*/2", str(day), f"{day},L", _plain(dice, 1, 31), _day(dice, special)]
    months = ["*", "*", "*", "*", "*/3", _plain(dice, 1, 12), dice.choice(list(MONTHS)).lower()]
    weekdays = ["*", "*", "*", "*", "1-5", _plain(dice, 0, 7), _weekday(dice, special)]
    hour = _hour(dice, special, near)
    return f"{seconds}{dice.choice(minutes)} {hour} {dice.choice(days)} {dice.choice(months)} {dice.choice(weekdays)}"


def _hour(dice: Random, special: bool, near: int | None) -> str:
    if near is not None and dice.random() < 0.7:
        first = (near + dice.randint(-2, 2)) % 24
        last = min(first + dice.randint(0, 3), 23)
        return dice.choice([str(first), f"{first}-{last}", f"{first},{last}"])
    return dice.choice(["*", "*/2", "*/3", "0", "0-23", "22-2" if special else "2", _plain(dice, 0, 23)])


def _plain(dice: Random, low: int, high: int) -> str:
    first, last = sorted((dice.randint(low, high), dice.randint(low, high)))
    step = dice.randint(1, high - low)
    ranges = [f"{first}-{last}", f"{first}-{last}/{step}", f"{first}/{step}"]
    return dice.choice(["*", f"*/{step}", str(first), f"{first},{last}", *ranges])


def _day(dice: Random, special: bool) -> str:
    more = ["?", "L-3", "15W", "1W", "31W", "L-30,2"] if special else []
    return dice.choice(["L", "LW", "1,L", *more])


def _weekday(dice: Random, special: bool) -> str:
    name = dice.choice(list(WEEKDAYS))
    more = ["FRI-MON", "?", "6-1/2", f"{name}L,3#1"] if special else []
    return dice.choice([name, "6L", f"{name}#2", "5#5", *more])

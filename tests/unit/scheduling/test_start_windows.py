"""May a run start now? By the window that its tick gave it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest

from tests.unit.makers import run_in
from tests.unit.scheduling.making import at, make_run, schedule
from workbell.model.outcome import OutsideWindow, Raised
from workbell.model.request import again
from workbell.model.run import Options, Outside, Run, RunWindow, Status
from workbell.model.run_defaults import Maker
from workbell.scheduling.rule import SKEW, judge_start

NIGHT = RunWindow("02:00", "06:00", "UTC")
LATE = RunWindow("22:00", "04:00", "UTC")


def claimed(window: RunWindow | None, **fields: Any) -> Run:
    text = None if window is None else msgspec.json.encode(Options(window=window)).decode()
    common: dict[str, Any] = {"schedule": "s", "scheduled_for": at("00:00"), "options_text": text}
    return run_in(Status.RUNNING, **(common | fields))


@pytest.mark.parametrize(
    ("window", "now", "opening"),
    [
        (NIGHT, at("02:00"), None),
        (NIGHT, at("05:59:59.999999"), None),
        (NIGHT, at("06:00"), at("02:00", 1)),
        (NIGHT, at("01:59:59.999999"), at("02:00")),
        (LATE, at("23:00"), None),
        (LATE, at("03:59"), None),
        (LATE, at("04:00"), at("22:00")),
        (LATE, at("21:59"), at("22:00")),
        (RunWindow("02:00", "06:00", "Europe/Paris"), at("05:00"), at("01:00", 1)),
        (None, at("12:00"), None),
    ],
)
def test_by_the_clock(window: RunWindow | None, now: datetime, opening: datetime | None) -> None:
    assert judge_start(claimed(window), now) == (None if opening is None else OutsideWindow(opening))
    if window is not None and opening is not None:
        skipping = msgspec.structs.replace(window, outside=Outside.SKIP)
        assert judge_start(claimed(skipping), now) == OutsideWindow(None)


def test_a_clock_that_is_a_little_behind() -> None:
    """Another process queued it at the very opening: it is not early, and with `skip` it must not end."""
    run = claimed(NIGHT, scheduled_for=at("02:00"))
    assert judge_start(run, at("02:00") - SKEW) is None
    assert judge_start(run, at("02:00") - SKEW - timedelta(microseconds=1)) == OutsideWindow(at("02:00"))


def test_a_window_that_cannot_be_read() -> None:
    assert isinstance(judge_start(claimed(RunWindow("02:00", "06:00", "Mars/Olympus")), at("03:00")), Raised)
    assert isinstance(judge_start(claimed(None, options_text='{"window": 3}'), at("03:00")), Raised)


def test_a_tick_gives_it_and_whoever_repeats_the_run_leaves_it() -> None:
    made = make_run(
        schedule(window=("02:00", "06:00"), outside="skip", timezone="Asia/Tokyo"), at("01:00"), at("01:00")
    )
    assert made.run.options.window == RunWindow("02:00", "06:00", "Asia/Tokyo", Outside.SKIP)
    assert (
        made.run.options_text == '{"window":{"start":"02:00","end":"06:00","timezone":"Asia/Tokyo","outside":"skip"}}'
    )
    assert again(made.run, at("09:00"), Maker("host/1/0"), retry_of=made.run.id).run.options_text is None
    assert make_run(schedule(), at("01:00"), at("01:00")).run.options_text is None

"""`workbell doctor` on schedules: somebody must look after them."""

from __future__ import annotations

from datetime import timedelta

import msgspec

from tests.support.inside.cli import examine
from tests.support.inside.values import ScheduleChange
from workbell import Workbell
from workbell.testing import drain


def test_says_whether_a_scheduler_looks(sql_store_url: str) -> None:
    with Workbell(sql_store_url) as bell:

        @bell.job
        def nightly() -> None: ...

        schedule = bell.schedules.put("nightly", job=nightly, cron="0 3 1 1 *")
        assert finding(sql_store_url)[0] == "ok"
        late = msgspec.structs.replace(schedule, look_at=bell.store.clock.now() - timedelta(hours=1))
        bell.store.schedules.write([ScheduleChange(schedule=late, expected=schedule.version)])
        level, text = finding(sql_store_url)
        assert level == "risk"
        assert "due for 60 min, and no scheduler takes it" in text or "due for 1 h" in text


def test_names_a_broken_schedule(sql_store_url: str) -> None:
    """E5: one that cannot be read makes no runs, and is not lost among those that wait."""
    with Workbell(sql_store_url) as bell:

        @bell.job
        def nightly() -> None: ...

        schedule = bell.schedules.put("nightly", job=nightly, cron="0 3 1 1 *")
        now = bell.store.clock.now()
        garbled = msgspec.structs.replace(schedule, expression="garbage", look_at=now)
        bell.store.schedules.write([ScheduleChange(schedule=garbled, expected=schedule.version, defines=True)])
        drain(bell)
        level, text = finding(sql_store_url)
        assert level == "risk"
        assert text.startswith("nightly is broken and makes no runs: ")
        assert "garbage" in text
        assert text.endswith("put it again with what is right, or pause it (`workbell schedules show nightly`).")
        bell.schedules.put("nightly", job=nightly, cron="0 3 1 1 *")
        assert finding(sql_store_url)[0] == "ok"


def finding(url: str) -> tuple[str, str]:
    (found,) = [finding for finding in examine(url).findings if finding.what == "schedules"]
    return found.level, found.text

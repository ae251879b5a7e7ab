"""`workbell bench`: it measures with real processes, and leaves a store as it was. No speed is asserted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.command_line import assert_refused, call
from tests.support.inside.cli import census, measures
from tests.support.inside.stores import open_store
from workbell import Workbell


def test_on_a_scratch_store(tmp_path: Path) -> None:
    answer = call(tmp_path, "bench", "--runs", "300", "--no-latency", "--json", TMPDIR=str(tmp_path))
    assert answer.code == 0, answer
    told = json.loads(answer.out)
    assert told["jobs_per_second"] > 0
    assert set(told["details"]) == {"enqueue_one", "enqueue_threads", "enqueue_bulk", "drain"}
    assert not list(tmp_path.iterdir())


def test_against_raw_sql(sql_store_url: str, tmp_path: Path) -> None:
    answer = call(
        tmp_path,
        "bench",
        "--url",
        sql_store_url,
        "--runs",
        "200",
        "--processes",
        "2",
        "--raw",
        "--no-latency",
    )
    assert answer.code == 0, answer
    lines = [line.split() for line in answer.out.splitlines() if "runs/s" in line]
    assert [line[-1].endswith("%") for line in lines] == [True, False, True, True]
    store = open_store(sql_store_url)
    left = census(store)
    store.close()
    assert not any(left[kind] for kind in ("live runs", "finished runs", "attempts", "keys"))


def test_latency(sql_store_url: str) -> None:
    found = measures.latency(sql_store_url, runs=5)
    assert len(found) == 5
    assert all(milliseconds > 0 for milliseconds in found)
    assert measures.percentile(found, 0.5) <= measures.percentile(found, 0.99)


def test_a_store_with_work_in_it_is_refused(tmp_path: Path) -> None:
    with Workbell(f"sqlite:///{tmp_path}/a.db") as bell:
        mine = bell.job(name="mine")(lambda: None).enqueue()
        answer = call(tmp_path, "bench", "--url", "sqlite:///a.db", "--runs", "100", "--no-latency")
        assert_refused(answer, 1, "1 live runs of yours", "--force")
        forced = call(tmp_path, "bench", "--url", "sqlite:///a.db", "--runs", "100", "--no-latency", "--force")
        assert forced.code == 0, forced
        assert bell.get(mine.id) == mine, "work of others is left alone"


@pytest.mark.parametrize("url", ["memory://"])
def test_a_store_of_one_process_is_refused(url: str, tmp_path: Path) -> None:
    assert_refused(call(tmp_path, "bench", "--url", url), 1, "memory://")

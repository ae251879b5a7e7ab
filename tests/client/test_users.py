"""Runs of people whose ids are texts, beside those with numbers: found, told apart and kept over their end (B1)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tests.client.conftest import finish, take
from workbell import Status, Workbell

UUID = "0198c2f3-5a6b-7c8d-9e0f-1a2b3c4d5e6f"
PEOPLE: list[int | str] = [0, 7, "007", "ada", UUID, 2**63 - 1]


def test_each_finds_their_own(bell: Workbell, send: Any) -> None:
    made = {person: [send.options(user_id=person).enqueue(to="x").id for _ in range(2)] for person in PEOPLE}
    for claimed in take(bell)[::2]:  # half of them are history
        finish(bell, claimed)
    for person in PEOPLE:
        found = bell.runs(user_id=person)
        assert sorted(run.id for run in found) == sorted(made[person])
        assert {run.user_id for run in found} == {person}
        assert bell.count_runs(user_id=person).count == 2
    assert bell.runs(user_id="7") == bell.runs(user_id=7)  # as a URL says it
    assert bell.runs(user_id="nobody") == []


def test_who_it_belongs_to_goes_on_with_it(bell: Workbell, send: Any) -> None:
    """To a retry by hand, and to what a schedule and a chain make."""
    first = send.options(user_id=UUID, auto_reschedule=timedelta(0)).enqueue(to="x")
    (claimed,) = take(bell)
    assert (claimed.user_id, finish(bell, claimed).status) == (UUID, Status.SUCCEEDED)
    assert bell.retry(first.id).user_id == UUID
    schedule = bell.schedules.put("hers", job="send", every=60, input={"to": "x"}, user_id=UUID)
    assert bell.schedules.get("hers").options.user_id == schedule.options.user_id == UUID

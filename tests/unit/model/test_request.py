"""The options of an enqueue: what each does to the new run, and what is said about values that cannot be used."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.unit.makers import NOW, run_in
from workbell.errors import ClockSkew, InvalidOption
from workbell.model.ids import first_id_at
from workbell.model.request import (
    ID_WINDOW,
    KEPT_LONG,
    NAMES,
    again,
    is_gone_early,
    make_request,
    plain_request,
    reschedule,
    with_chosen_id,
)
from workbell.model.retry import Retry
from workbell.model.run import Lane, NewRun, OnDuplicate, Options, Status
from workbell.model.run_defaults import RESCHEDULES, Maker
from workbell.model.state import Retention

SOON = NOW + timedelta(seconds=60)


def request(**options: Any) -> NewRun:
    return make_request(
        "send", "{}", options, tenant="acme", queue="mail", now=NOW, maker=Maker("host/1/2")  # type: ignore[arg-type]
    )  # fmt: skip


def test_without_options_a_run_is_queued_at_once_with_the_defaults() -> None:
    made = request()
    run = made.run
    assert (run.status, run.scheduled_for, run.created_at, run.updated_at) == (Status.QUEUED, NOW, NOW, NOW)
    assert (run.tenant, run.queue, run.job, run.target) == ("acme", "mail", "send", None)
    assert (run.priority, run.user_id, run.attempt, run.token, run.persistent) == (0, 0, 0, 0, True)
    assert (run.tag, run.key, run.expires_at, run.options_text, run.input) == (None, None, None, None, {})
    assert (made.on_duplicate, made.key_span, made.replace_tag) == (OnDuplicate.RETURN, None, False)


def test_the_short_way_makes_the_same_run() -> None:
    short = plain_request(Lane("acme", "mail", "send"), "{}", NOW)
    long = request()
    same = [name for name in short.run.__struct_fields__ if name != "id"]
    assert [getattr(short.run, name) for name in same] == [getattr(long.run, name) for name in same]
    assert (short.on_duplicate, short.key_span, short.replace_tag) == (OnDuplicate.RETURN, None, False)


@pytest.mark.parametrize(
    ("options", "due"),
    [
        ({"delay": 60}, SOON),
        ({"delay": timedelta(minutes=1)}, SOON),
        ({"run_at": SOON}, SOON),
        ({"run_at": SOON.astimezone()}, SOON),
        ({"delay": 0}, NOW),
        ({"run_at": NOW}, NOW),
        ({"run_at": NOW - timedelta(days=9)}, NOW),  # overdue is due now
    ],
)
def test_when_a_run_is_due(options: dict[str, Any], due: datetime) -> None:
    run = request(**options).run
    assert run.scheduled_for == due
    assert run.scheduled_for.tzinfo is UTC
    assert run.status is (Status.SCHEDULED if due > NOW else Status.QUEUED)


@pytest.mark.parametrize("expires", [60, timedelta(minutes=1), SOON])
def test_expires_is_a_time_or_a_span_from_now(expires: Any) -> None:
    assert request(expires=expires).run.expires_at == SOON


def test_every_other_option_finds_its_place() -> None:
    made = request(
        key="k", on_duplicate="replace", key_for=5, tag="t", replace_tag=True, priority=7, queue="slow", tenant="other",
        user_id=42, target="agent-1", retry=Retry(attempts=9), timeout=timedelta(seconds=30), persistent=False,
        auto_reschedule=10, remove_delay=timedelta(hours=1), connection=None,
    )  # fmt: skip
    run = made.run
    assert (run.key, made.on_duplicate, made.key_span) == ("k", OnDuplicate.REPLACE, timedelta(seconds=5))
    assert (run.tag, made.replace_tag) == ("t", True)
    assert (run.priority, run.rank, run.user_id) == (7, -7, 42)
    assert run.lane == Lane("other", "slow", "send", "agent-1")
    assert run.retry == Retry(attempts=9)
    assert (run.options.timeout, run.options.remove_delay) == (30, 3600)
    assert (run.options.auto_reschedule, run.options.reschedules_left) == (10, RESCHEDULES)
    assert (run.persistent, run.accepted_by) == (False, "host/1/2")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"color": 1}, "Unknown option 'color'; the options are auto_reschedule, "),
        ({"delay": -1}, "delay: -1 is not a span"),
        ({"delay": float("nan")}, "delay: nan is not a span"),
        ({"delay": float("inf")}, "delay: inf is not a span"),
        ({"delay": "5"}, "delay: expected seconds or a timedelta, got str"),
        ({"delay": True}, "delay: expected seconds or a timedelta, got bool"),
        ({"delay": None}, "delay: expected seconds or a timedelta, got NoneType"),
        ({"run_at": datetime(2030, 1, 1)}, "run_at: 2030-01-01T00:00:00 has no time zone"),  # noqa: DTZ001
        ({"run_at": 5}, "run_at: expected a datetime, got int"),
        ({"run_at": SOON, "delay": 5}, "run_at and delay both say when"),
        ({"expires": 0}, "expires: the run would expire before it is due"),
        ({"expires": 60, "delay": 60}, "expires: the run would expire before it is due"),
        ({"expires": NOW}, "expires: the run would expire before it is due"),
        ({"expires": -5}, "expires: -5 is not a span"),
        ({"expires": datetime(2031, 1, 1)}, "expires: 2031-01-01T00:00:00 has no time zone"),  # noqa: DTZ001
        ({"expires": "x"}, "expires: expected seconds or a timedelta, got str"),
        ({"priority": 101}, "priority: 101 is not a whole number from -100 to 100"),
        ({"priority": -101}, "priority: -101 is not"),
        ({"priority": 1.0}, "priority: 1.0 is not"),
        ({"priority": True}, "priority: True is not"),
        ({"priority": "high"}, "priority: 'high' is not"),
        ({"user_id": -1}, "user_id: -1 is neither a whole number from 0 nor a text"),
        ({"user_id": 2**63}, "user_id: 9223372036854775808 is neither"),
        ({"user_id": "-7"}, "user_id: '-7' is neither"),
        ({"user_id": " "}, "user_id ' ': use 1 to 200"),
        ({"user_id": False}, "user_id: False is neither"),
        ({"key": ""}, "key '': use 1 to 200 printable characters"),
        ({"key": "x" * 201}, "key 'x"),
        ({"key": "a\x00"}, "key 'a"),
        ({"key": 5}, "key: expected a text, got int"),
        ({"tag": " t"}, "tag ' t': use 1 to 200"),
        ({"queue": "\n"}, "queue '"),
        ({"queue": None}, "queue: expected a text, got NoneType"),
        ({"tenant": ""}, "tenant '': use"),
        ({"target": "\ud800"}, "target '"),
        ({"on_duplicate": "explode", "key": "k"}, "on_duplicate: 'explode' is none of return, reject, replace"),
        ({"on_duplicate": "return"}, "on_duplicate, key_for, key_scope: there is no key; give one with key=."),
        ({"key_for": 5}, "on_duplicate, key_for, key_scope: there is no key"),
        ({"key_scope": "tenant"}, "on_duplicate, key_for, key_scope: there is no key"),
        ({"key_scope": "queue", "key": "k"}, "key_scope: 'queue' is neither job nor tenant"),
        ({"key_for": -1, "key": "k"}, "key_for: -1 is not a span"),
        ({"replace_tag": True}, "replace_tag: there is no tag; give one with tag=."),
        ({"retry": "3"}, "retry: expected a Retry, a number of attempts or a dict, got str"),
        ({"replace_tag": "no", "tag": "t"}, "replace_tag: expected True or False, got str"),
        ({"persistent": 0}, "persistent: expected True or False, got int"),
        ({"timeout": 0}, "timeout: it is more than 0 seconds; leave it out for none"),
        ({"timeout": -1}, "timeout: -1 is not a span"),
        ({"timeout": "1m"}, "timeout: expected seconds or a timedelta, got str"),
        ({"auto_reschedule": float("nan")}, "auto_reschedule: nan is not a span"),
        ({"remove_delay": -1}, "remove_delay: -1 is not a span"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_a_bad_value_is_refused_in_one_sentence(options: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidOption) as refused:
        request(**options)
    assert str(refused.value).startswith(says)
    assert str(refused.value).endswith(".")
    assert str(refused.value).isprintable()


def test_the_scope_of_a_key_is_part_of_its_stored_text() -> None:
    own, shared = request(key="k").run, request(key="k", key_scope="tenant").run
    assert (own.key, own.key_text) == ("k", "send\x1fk")
    assert (shared.key, shared.key_text) == ("k", "k")
    assert request(key="k", key_scope="job").run.key_text == own.key_text


def test_the_bounds_themselves_are_taken() -> None:
    assert request(priority=100).run.rank == -100
    assert request(priority=-100).run.rank == 100
    assert request(user_id=2**63 - 1).run.user_id == 2**63 - 1
    assert request(key="x" * 200).run.key == "x" * 200


def test_every_option_is_covered_above() -> None:
    """A new option needs a line in these tests."""
    assert (
        set(
            "run_at delay expires key key_scope on_duplicate key_for tag replace_tag priority queue tenant user_id "
            "target retry timeout persistent auto_reschedule remove_delay connection".split()
        )
        == NAMES
    )


def test_a_chosen_id_and_its_request_are_those_of_the_run() -> None:
    run_id = first_id_at(NOW)
    made = with_chosen_id(request(timeout=5), run_id, "f")
    assert (made.run.id, made.chosen) == (run_id, True)
    assert made.run.options == Options(timeout=5.0, request="f")
    assert made.run.created_at == NOW


@pytest.mark.parametrize("sign", [1, -1])
def test_a_chosen_id_of_another_time_is_refused(sign: int) -> None:
    moment = timedelta(milliseconds=1)
    with_chosen_id(request(), first_id_at(NOW + sign * ID_WINDOW), "f")
    with pytest.raises(ClockSkew, match=r"was made at .*Z, and it is .*Z here; set the clock"):
        with_chosen_id(request(), first_id_at(NOW + sign * (ID_WINDOW + moment)), "f")


def test_the_id_of_a_removed_run_is_too_old_to_be_chosen_again() -> None:
    """Also if the clocks of its two requests were wrong, one forwards and one backwards."""
    assert KEPT_LONG > 2 * ID_WINDOW


@pytest.mark.parametrize(
    ("own", "keep", "is_early"),
    [
        (None, Retention(), False),
        (None, Retention(succeeded=timedelta(minutes=59)), True),
        (None, Retention(other=timedelta(0)), True),
        (None, Retention(KEPT_LONG, KEPT_LONG), False),
        (3600, Retention(timedelta(0), timedelta(0)), False),
        (3599, Retention(), True),
    ],
)
def test_whether_a_run_is_removed_early(own: float | None, keep: Retention, is_early: bool) -> None:
    run = request(**({} if own is None else {"remove_delay": own})).run
    assert is_gone_early(run, keep) is is_early


def test_again_is_a_new_run_with_the_same_work_and_a_link() -> None:
    old = run_in(
        Status.FAILED, input_text='{"to":"a"}', tag="t", key="k", user_number=3, rank=-5, attempt=3, failures=3
    )
    new = again(old, SOON, "host/1/2", retry_of=old.id).run
    assert new.id != old.id
    assert (new.status, new.retry_of, new.scheduled_for) == (Status.QUEUED, old.id, SOON)
    assert (new.input, new.tag, new.user_id, new.priority, new.lane) == ({"to": "a"}, "t", 3, 5, old.lane)
    assert (new.key, new.attempt, new.failures) == (None, 0, 0)


def test_a_chain_of_reschedules_ends_by_itself() -> None:
    """B8: the new run keeps the flag; a chain ends after 10."""
    run = request(auto_reschedule=30, timeout=7).run
    for made in range(RESCHEDULES):
        follow = reschedule(run, NOW)
        assert follow is not None, f"the chain ended after {made}"
        assert follow.run.rescheduled_from == run.id
        assert (follow.run.status, follow.run.scheduled_for) == (Status.SCHEDULED, NOW + timedelta(seconds=30))
        assert (follow.run.options.auto_reschedule, follow.run.options.timeout) == (30, 7)
        run = follow.run
    assert reschedule(run, NOW) is None
    assert reschedule(request().run, NOW) is None

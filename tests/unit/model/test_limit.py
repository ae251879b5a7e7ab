"""Limits of a job: what can be asked for, what is counted for a lane, and the key of an input."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.fresh_store import fresh_store
from workbell import InvalidOption, Workbell
from workbell.model.limit import NO_LIMITS, Limits, limit_key, limits_on
from workbell.model.rate import Rate
from workbell.model.run import Lane

LANE = Lane("t", "q", "send", None, "7")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"concurrency": 0}, "concurrency: 0 is not a whole number from 1"),
        ({"concurrency": True}, "concurrency: True"),
        ({"concurrency": "3"}, "concurrency: '3'"),
        (
            {"rate": "fast"},
            '\'fast\' cannot be read; write "100/m", or "10/30s": a number of starts, a slash, and a span',
        ),
        ({"rate": 5}, "rate: 5 cannot be read"),
        ({"rate": "0/m"}, "allows 0 starts"),
        ({"rate": "5/2d"}, "not from 1 s to 1 d"),
        ({"concurrency_key": "to"}, "there is no concurrency to count by it"),
        ({"rate_key": "to"}, "there is no rate to count by it"),
        ({"concurrency": 1, "rate_key": "to"}, "there is no rate"),
        ({"concurrency": 1, "concurrency_key": ""}, "is not the name of an argument"),
        ({"concurrency": 1, "concurrency_key": "a b"}, "is not the name of an argument"),
        ({"concurrency": 1, "concurrency_key": "to."}, "is not the name of an argument"),
        ({"concurrency": 1, "concurrency_key": "who"}, "has no argument 'who'; the arguments are to, order"),
        (
            {"concurrency": 1, "concurrency_key": "to", "rate": "1/s", "rate_key": "order.id"},
            "'to' and 'order.id' are two arguments",
        ),
    ],
)
def test_what_cannot_be_used_is_refused_where_it_is_declared(given: dict[str, Any], says: str) -> None:
    bell = Workbell(store=fresh_store())
    with pytest.raises(InvalidOption, match="job send: ") as caught:

        @bell.job(**given)
        def send(to: str, order: dict[str, Any] | None = None) -> None: ...

    assert says in str(caught.value)
    bell.close()


@pytest.mark.parametrize(
    "limits",
    [
        Limits(3),
        Limits(1, "to"),
        Limits(rate="100/m"),
        Limits(rate="10/30s", rate_key="order.customer.id"),
        Limits(5, "to", "1/h", "to"),
        Limits(5, None, "1/h", "to"),
    ],
)
def test_what_can_be_used(limits: Limits) -> None:
    assert limits.checked(["to", "order"]) == limits
    assert limits.checked() == limits


def test_a_handler_that_takes_anything_has_any_key() -> None:
    bell = Workbell(store=fresh_store())

    @bell.job(concurrency=1, concurrency_key="whatever")
    def send(**extra: Any) -> None: ...

    assert send.limits.key == "whatever"
    assert bell.request(send, {"whatever": 5}).new.run.lane.key == "5"
    bell.close()


def test_what_is_counted_for_a_lane() -> None:
    assert limits_on(NO_LIMITS, LANE) == ()
    (both,) = limits_on(Limits(3, None, "5/m"), LANE)
    assert (both.concurrency, both.rate, both.keyed, both.key, both.scattered) == (3, Rate(5, 60), False, None, False)
    (keyed,) = limits_on(Limits(3, "c", "5/m", "c"), LANE)
    assert (keyed.concurrency, keyed.rate, keyed.keyed, keyed.key, keyed.by) == (3, Rate(5, 60), True, "7", "c")
    whole, part = limits_on(Limits(3, None, "5/m", "c"), LANE)
    assert (whole.concurrency, whole.rate, whole.key, whole.scattered) == (3, None, None, True)
    assert (part.concurrency, part.rate, part.key, part.scattered) == (None, Rate(5, 60), "7", False)


def test_what_is_counted_apart_has_ids_apart() -> None:
    lanes = [LANE, Lane("t", "q", "send", None, "8"), Lane("t", "q", "send"), Lane("t", "q", "send", None, "")]
    found = [limits_on(Limits(1, "c"), lane)[0].id for lane in lanes]
    found += [
        limits_on(Limits(1), Lane(tenant, "q", job))[0].id for tenant, job in (("t", "send"), ("t", "x"), ("u", "send"))
    ]
    assert len(set(found)) == len(found)
    assert limits_on(Limits(1), LANE)[0].id == limits_on(Limits(1), Lane("t", "other", "send"))[0].id


@pytest.mark.parametrize(
    ("path", "text", "key"),
    [
        ("to", '{"to":"a@b.c"}', "a@b.c"),
        ("to", '{"to":7}', "7"),
        ("to", '{"to":null}', "null"),
        ("to", '{"to":true}', "true"),
        ("to", '{"to":{"b":1,"a":[2]}}', '{"a":[2],"b":1}'),
        ("to", "{}", "null"),
        ("to", None, "null"),
        ("order.customer", '{"order":{"customer":"x"}}', "x"),
        ("order.customer", '{"order":"x"}', "null"),
        ("order.customer.id", '{"order":{"customer":{"id":3}}}', "3"),
    ],
)
def test_the_key_of_an_input(path: str, text: str | None, key: str) -> None:
    assert limit_key(Limits(1, path), text) == key


def test_no_key_without_one() -> None:
    assert limit_key(Limits(1), '{"to":1}') is None


def test_a_long_key_is_cut_and_still_its_own() -> None:
    keys = [limit_key(Limits(1, "to"), f'{{"to":"{"x" * 500}{number}"}}') for number in range(3)]
    keys += [limit_key(Limits(1, "to"), '{"to":"a\\u0000b"}'), limit_key(Limits(1, "to"), '{"to":"ab"}')]
    assert len(set(keys)) == 5
    assert all(key is not None and len(key) <= 200 and "\x00" not in key for key in keys)

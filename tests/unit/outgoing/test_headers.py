"""Headers that users add: what is taken, and what would change where a request ends or whom it is for."""

from __future__ import annotations

from typing import Any

import pytest

from workbell.errors import InvalidOption
from workbell.outgoing.headers import check_headers


def test_names_are_made_lower() -> None:
    assert check_headers({"X-Token": "a b", "content-type": "", "Authorization": "Bearer x="}) == {
        "x-token": "a b",
        "content-type": "",
        "authorization": "Bearer x=",
    }


OWN = "Host content-length Transfer-Encoding connection Expect Upgrade TE Trailer Keep-Alive Accept-Encoding"


@pytest.mark.parametrize("name", [*OWN.split(), "Proxy-Authorization"])
def test_names_that_belong_to_the_connection(name: str) -> None:
    with pytest.raises(InvalidOption, match=f"headers: {name} is set by Workbell"):
        check_headers({name: "x"})


@pytest.mark.parametrize("name", ["", "a b", "a:", "a\r\nb", "ä", "\x00", "a" * 101, "(x)", 7, None])
def test_what_is_no_name(name: Any) -> None:
    with pytest.raises(InvalidOption, match="is not a header's name"):
        check_headers({name: "x"})


@pytest.mark.parametrize("value", ["a\r\nHost: x", "a\nb", "\x00", "ä", " a", "a ", "x" * 4097, "\x7f", 7, None])
def test_values_that_are_refused_are_not_shown(value: Any) -> None:
    with pytest.raises(InvalidOption, match="the value of X-Token must be") as caught:
        check_headers({"X-Token": value})
    assert repr(value) not in str(caught.value)
    assert str(caught.value).isprintable()


def test_reserved_beginnings() -> None:
    assert check_headers({"Webhook-Id": "x"}) == {"webhook-id": "x"}
    with pytest.raises(InvalidOption, match="Webhook-Id is set by Workbell"):
        check_headers({"Webhook-Id": "x"}, reserved=("webhook-",))


def test_a_name_only_once_and_not_too_many() -> None:
    with pytest.raises(InvalidOption, match="twice"):
        check_headers({"X-A": "1", "x-a": "2"})
    assert len(check_headers({f"x-{number}": "1" for number in range(50)})) == 50
    with pytest.raises(InvalidOption, match="51 are more than 50"):
        check_headers({f"x-{number}": "1" for number in range(51)})

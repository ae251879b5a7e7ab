"""Addresses to listen on: host and port, IPv6 in brackets; anything else is refused in one sentence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbell.errors import SettingsError
from workbell.model.listen_address import ListenAddress, read_listen_address

PORTS = st.integers(0, 65535)


@given(st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)), PORTS)
def test_an_address_is_read_as_it_was_written(host: object, port: int) -> None:
    address = ListenAddress(str(host), port)
    assert read_listen_address(str(address)) == address


@given(st.text())
def test_any_text_is_an_address_or_refused_in_a_sentence(text: str) -> None:
    try:
        address = read_listen_address(text)
    except SettingsError as error:
        assert str(error).endswith(".")  # noqa: PT017 - either is fine
    else:
        assert address.host
        assert 0 <= address.port <= 65535


@pytest.mark.parametrize(
    "text", ["", "8322", ":8322", "127.0.0.1", "127.0.0.1:", "::1:80", "a:65536", "a:-1", "a:٣", "http://a:80", "a b:1"]
)
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(SettingsError):
        read_listen_address(text)


def test_from_here_all_addresses_are_this_machine() -> None:
    assert str(read_listen_address("0.0.0.0:8322").from_here) == "127.0.0.1:8322"
    assert str(read_listen_address("[::]:8322").from_here) == "[::1]:8322"
    assert str(read_listen_address("box:8322").from_here) == "box:8322"

"""Which hosts are this machine's own."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from workbell.model.loopback import is_loopback

LOOPBACK = IPv4Network("127.0.0.0/8")


@pytest.mark.parametrize("host", ["localhost", "LocalHost", "127.0.0.1", "127.9.9.9", "::1", "[::1]", "0:0::0:1"])
def test_names_and_addresses_of_this_machine(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host",
    [
        "app.localhost",
        "localhost.",
        "localhost.localdomain",
        "localhost.example.com",
        "127.0.0.1.example.com",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0.0.0.0",
        "::",
        "[::]",
        "[127.0.0.1",
        "::1]",
        "",
        "[]",
    ],
)
def test_others_also_where_a_resolver_may_think_otherwise(host: str) -> None:
    """Names below `localhost` are asked of the network by many resolvers; short forms of addresses mean what C says."""
    assert not is_loopback(host)


@given(st.integers(0, 2**32 - 1).map(IPv4Address))
@example(IPv4Address("127.255.255.255"))
@example(IPv4Address("126.255.255.255"))
@example(IPv4Address("128.0.0.0"))
def test_an_address_is_one_by_its_network_in_every_spelling(address: IPv4Address) -> None:
    mapped = IPv6Address(b"\0" * 10 + b"\xff\xff" + address.packed)
    spellings = [str(address), str(mapped), f"[{mapped}]", mapped.exploded]
    assert {is_loopback(host) for host in spellings} == {address in LOOPBACK}


@given(st.integers(0, 2**128 - 1).map(IPv6Address).filter(lambda address: address.ipv4_mapped is None))
@example(IPv6Address(1))
@example(IPv6Address(2))
def test_of_other_ipv6_addresses_one_is(address: IPv6Address) -> None:
    assert is_loopback(f"[{address}]") is (int(address) == 1)


@given(st.text("abc127.:-[]xé", max_size=20).map(lambda name: f"{name}.example"))
def test_a_name_is_never_one_whatever_it_looks_like(name: str) -> None:
    assert not is_loopback(name)

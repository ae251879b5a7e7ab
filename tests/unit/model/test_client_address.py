"""Address of a client behind proxies: only what trusted proxies wrote is believed."""

from __future__ import annotations

from ipaddress import ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbell.errors import SettingsError
from workbell.model.client_address import TrustedProxies, client_address, network_of

NETWORKS = [ip_network("10.0.0.0/8"), ip_network("2001:db8:1::/48")]
PROXIES = TrustedProxies.parse([str(network) for network in NETWORKS])
OURS = st.sampled_from(NETWORKS).flatmap(lambda network: st.ip_addresses(network=network)).map(str)
OTHERS = (
    st.ip_addresses()
    .filter(lambda one: (getattr(one, "ipv4_mapped", None) or one) is one and not any(one in net for net in NETWORKS))
    .map(str)
)
SAID = st.one_of(st.text(max_size=30), OURS, OTHERS)


@given(peer=OTHERS, said=SAID)
def test_nobody_else_is_believed(peer: str, said: str) -> None:
    assert client_address(peer, said, PROXIES) == peer
    assert client_address(peer, said, TrustedProxies()) == peer


@given(peer=OURS, hops=st.lists(OURS, max_size=4), client=OTHERS, invented=st.lists(SAID, max_size=4))
def test_the_client_is_the_last_address_that_is_not_a_proxy(
    peer: str, hops: list[str], client: str, invented: list[str]
) -> None:
    """Whatever the client sent before: each proxy appends the address that it was called from."""
    assert client_address(peer, ", ".join([*invented, client, *hops]), PROXIES) == client


@given(peer=OURS, said=SAID)
def test_whatever_stands_there_the_answer_is_an_address(peer: str, said: str) -> None:
    found = client_address(peer, said, PROXIES)
    assert found is not None
    assert str(ip_address(found)) == found
    assert found == peer or found in said or PROXIES.trusts(found)


@pytest.mark.parametrize(
    ("said", "client"),
    [
        ("", "10.0.0.1"),
        ("unknown", "10.0.0.1"),
        ("192.0.2.1, unknown", "10.0.0.1"),  # what the proxy wrote is no address, and nothing before is its word
        ("192.0.2.1, 10.0.0.9", "192.0.2.1"),
        ("192.0.2.1:4711", "192.0.2.1"),
        ("[2001:db8::7]:4711", "2001:db8::7"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("10.0.0.8, 10.0.0.9", "10.0.0.8"),  # a client in a trusted network
    ],
)
def test_forms_of_the_header(said: str, client: str) -> None:
    assert client_address("10.0.0.1", said, PROXIES) == client


def test_a_proxy_that_is_called_over_ipv6_is_the_same_one() -> None:
    assert PROXIES.trusts("::ffff:10.0.0.1")
    assert not PROXIES.trusts("testclient")
    assert not PROXIES.trusts(None)


@pytest.mark.parametrize(
    ("entry", "why"),
    [("proxy.internal", "neither"), ("10.0.0.1/8", "host bits"), ("0.0.0.0/0", "forge"), ("::/0", "forge")],
)
def test_a_network_that_cannot_be_used_is_refused(entry: str, why: str) -> None:
    with pytest.raises(SettingsError, match=f"http_trusted_proxies: '{entry}' .*{why}.*; write"):
        TrustedProxies.parse(["127.0.0.1", entry])


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("192.0.2.1", "192.0.2.2", False),
        ("2001:db8::1", "2001:db8::ffff:1", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("fe80::1%eth0", "fe80::2%eth0", True),
        ("unix:a", "unix:b", False),
        (None, None, True),
    ],
)
def test_a_network_of_ipv6_is_one_client(one: str | None, other: str | None, same: bool) -> None:
    assert (network_of(one) == network_of(other)) is same

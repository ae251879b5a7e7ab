"""Which addresses are public, and the word for why another is not."""

from __future__ import annotations

import pytest

from workbell.outgoing.address import is_public, why_not_public


@pytest.mark.parametrize(
    "address",
    [
        "1.1.1.1",
        "8.8.8.8",
        "93.184.216.34",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "192.0.1.0",
        "192.167.255.255",
        "198.17.255.255",
        "198.20.0.0",
        "223.255.255.255",
        "2001:200::1",
        "2606:4700:4700::1111",
        "2a00:1450:4001:80b::200e",
        "2003::1",
        "3ffe:ffff::1",
    ],
)
def test_public(address: str) -> None:
    assert why_not_public(address) is None
    assert is_public(address)


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("0.0.0.0", "this network"),
        ("10.255.255.255", "private"),
        ("100.64.0.0", "shared by carriers"),
        ("100.127.255.255", "shared by carriers"),
        ("127.0.0.1", "loopback"),
        ("168.63.129.16", "a cloud's own service"),
        ("169.254.169.254", "link-local"),
        ("172.31.255.255", "private"),
        ("192.0.0.192", "reserved for protocols"),
        ("192.88.99.1", "6to4 relay"),
        ("192.168.255.255", "private"),
        ("198.19.255.255", "benchmarking"),
        ("203.0.113.255", "documentation"),
        ("224.0.0.0", "multicast"),
        ("239.255.255.255", "multicast"),
        ("240.0.0.0", "reserved"),
        ("255.255.255.255", "broadcast"),
        ("::", "unspecified"),
        ("::1", "loopback"),
        ("::2", "IPv4-compatible"),
        ("::ffff:8.8.8.8", "IPv4-mapped"),
        ("::ffff:0:8.8.8.8", "IPv4-translated"),
        ("64:ff9b::8.8.8.8", "NAT64"),
        ("64:ff9b:1:ffff::1", "NAT64"),
        ("64:ff9b:2::1", "reserved"),
        ("100::1", "discard-only"),
        ("1fff::1", "reserved"),
        ("2001::1", "Teredo"),
        ("2001:2::1", "reserved for protocols"),
        ("2001:1ff::1", "reserved for protocols"),
        ("2001:db8::1", "documentation"),
        ("2002:808:808::", "6to4"),
        ("2400:cb00::5efe:808:808", "ISATAP"),
        ("3fff:fff::1", "documentation"),
        ("4000::1", "reserved"),
        ("fd00:ec2::254", "unique-local"),
        ("fe80::1", "link-local"),
        ("febf::1", "link-local"),
        ("fec0::1", "site-local"),
        ("ff02::1", "multicast"),
        ("2606:4700::1%eth0", "bound to one interface"),
        ("localhost", "not an address"),
        ("0177.0.0.1", "not an address"),
        ("127.1", "not an address"),
        ("[::1]", "not an address"),
        ("", "not an address"),
    ],
)
def test_not_public(address: str, reason: str) -> None:
    assert why_not_public(address) == reason
    assert not is_public(address)

"""The operator's allow-list: which entries it has, and what they open."""

from __future__ import annotations

import pytest

from workbell.errors import EndpointRefused, SettingsError
from workbell.outgoing.allow import AllowList
from workbell.outgoing.permit import check_addresses, check_url
from workbell.outgoing.target import read_target


@pytest.mark.parametrize(
    ("entry", "address", "port", "allowed"),
    [
        ("127.0.0.1", "127.0.0.1", 80, True),
        ("127.0.0.1", "127.0.0.2", 80, False),
        ("10.0.0.0/8", "10.1.2.3", 80, True),
        ("10.0.0.0/8", "11.1.2.3", 80, False),
        ("10.0.0.0/8:8080", "10.1.2.3", 8080, True),
        ("10.0.0.0/8:8080", "10.1.2.3", 80, False),
        ("127.0.0.1:8080", "127.0.0.1", 8080, True),
        ("127.0.0.1:8080", "127.0.0.1", 8081, False),
        ("::1", "::1", 80, True),
        ("[::1]", "::1", 80, True),
        ("[::1]:8080", "::1", 8080, True),
        ("[::1]:8080", "::1", 80, False),
        ("fd00::/8", "fd00:ec2::254", 443, True),
        ("[fd00::/8]:443", "fd00:ec2::254", 443, True),
        (" FD00::/8 ", "fd12::1", 443, True),
        # What only wraps an allowed address is another address.
        ("127.0.0.1", "::ffff:127.0.0.1", 80, False),
        ("fe80::/10", "fe80::1%eth0", 80, False),
        ("hooks.internal", "127.0.0.1", 80, False),
        ("127.0.0.0/8", "hooks.internal", 80, False),
    ],
)
def test_networks(entry: str, address: str, port: int, allowed: bool) -> None:
    assert AllowList.parse([entry]).allows_address(address, port) is allowed
    assert not AllowList().allows_address(address, port)


@pytest.mark.parametrize(
    ("entry", "host", "port", "allowed"),
    [
        ("hooks.internal", "hooks.internal", 80, True),
        ("Hooks.Internal", "hooks.internal", 80, True),
        ("hooks.internal", "a.hooks.internal", 80, False),
        ("hooks.internal", "hooks.internal.example", 80, False),
        ("hooks.internal:8080", "hooks.internal", 8080, True),
        ("hooks.internal:8080", "hooks.internal", 80, False),
        ("*.internal", "hooks.internal", 80, True),
        ("*.internal", "a.b.internal", 80, True),
        ("*.internal", "internal", 80, False),
        ("*.internal", "notinternal", 80, False),
        ("*.internal:81", "hooks.internal", 80, False),
        ("localhost", "localhost", 80, True),
    ],
)
def test_names(entry: str, host: str, port: int, allowed: bool) -> None:
    assert AllowList.parse([entry]).allows_name(host, port) is allowed
    assert not AllowList().allows_name(host, port)


@pytest.mark.parametrize(
    "entry",
    [
        "",
        "*",
        "*.*",
        "a..b",
        "10.0.0.0/33",
        "10.0.0.1/8",
        "127.1",
        "0177.0.0.1",
        "2130706433",
        "0x7f.1",
        "::1:8080:zz",
        "[::1",
        "[hooks]x",
        "hooks:0",
        "hooks:65536",
        "hooks:http",
        "https://hooks.internal",
        "hooks.internal/path",
        "me@hooks.internal",
        "bücher.example",
        "fe80::1%eth0/10",
    ],
)
def test_what_cannot_be_read_is_named(entry: str) -> None:
    with pytest.raises(SettingsError, match="webhook_allow") as caught:
        AllowList.parse(["127.0.0.1", entry])
    assert repr(entry) in str(caught.value)


@pytest.mark.parametrize(
    ("allow", "url", "addresses"),
    [
        (["127.0.0.1"], "http://127.0.0.1:8080/", ["127.0.0.1"]),
        (["127.0.0.1"], "https://127.0.0.1/", ["127.0.0.1"]),
        (["::1"], "http://[::1]/", ["::1"]),
        (["10.0.0.0/8"], "http://hooks.example/", ["10.0.0.1", "10.0.0.2"]),
        (["10.0.0.0/8"], "http://hooks/", ["10.0.0.1"]),
        (["10.0.0.0/8"], "https://hooks.example/", ["10.0.0.1", "93.184.216.34"]),
        (["hooks.internal"], "http://hooks.internal/", ["127.0.0.1", "93.184.216.34"]),
        (["localhost:80"], "http://localhost/", ["::1"]),
        ([], "https://hooks.example/", ["93.184.216.34", "2606:4700::1111"]),
    ],
)
def test_what_an_entry_opens(allow: list[str], url: str, addresses: list[str]) -> None:
    listed = AllowList.parse(allow)
    check_addresses(check_url(url, listed), addresses, listed)


@pytest.mark.parametrize(
    ("allow", "url", "addresses", "reason"),
    [
        (["127.0.0.1:8080"], "http://127.0.0.1:8081/", ["127.0.0.1"], "loopback"),
        (["10.0.0.0/8"], "http://hooks.example/", ["10.0.0.1", "93.184.216.34"], "http is not encrypted"),
        (["10.0.0.0/8"], "https://hooks.example/", ["10.0.0.1", "127.0.0.1"], "leads to 127.0.0.1"),
        (["10.0.0.0/8"], "https://hooks/", ["93.184.216.34"], "private network"),
        (["93.184.216.0/24"], "http://1.1.1.1/", ["1.1.1.1"], "http is not encrypted"),
        (["hooks.internal"], "https://other.internal/", ["127.0.0.1"], "loopback"),
        (["hooks.internal"], "http://hooks.example/", ["93.184.216.34"], "http is not encrypted"),
        (["hooks.internal"], "https://hooks/", ["93.184.216.34"], "private network"),
    ],
)
def test_what_it_leaves_closed(allow: list[str], url: str, addresses: list[str], reason: str) -> None:
    listed = AllowList.parse(allow)
    with pytest.raises(EndpointRefused, match=reason) as caught:
        check_addresses(check_url(url, listed), addresses, listed)
    assert "webhook_allow" in str(caught.value)
    # Whether or not the URL alone gave it away, the addresses do.
    with pytest.raises(EndpointRefused, match=reason):
        check_addresses(read_target(url), addresses, listed)

"""A URL read into its parts; what is refused is in the corpus of hostile URLs."""

from __future__ import annotations

from typing import Any

import pytest

from workbell.errors import EndpointRefused
from workbell.outgoing.target import read_target, shown


@pytest.mark.parametrize(
    ("url", "scheme", "host", "port", "path", "authority"),
    [
        ("https://example.com", "https", "example.com", 443, "/", "example.com"),
        ("https://example.com:443/", "https", "example.com", 443, "/", "example.com"),
        ("HTTPS://Example.COM:8443/A?b=C", "https", "example.com", 8443, "/A?b=C", "example.com:8443"),
        ("https://example.com?x=1", "https", "example.com", 443, "/?x=1", "example.com"),
        ("http://example.com:80/", "http", "example.com", 80, "/", "example.com"),
        ("http://example.com:443/", "http", "example.com", 443, "/", "example.com:443"),
        ("https://1.1.1.1/", "https", "1.1.1.1", 443, "/", "1.1.1.1"),
        ("https://[2606:4700:0::1111]/", "https", "2606:4700::1111", 443, "/", "[2606:4700::1111]"),
        ("https://[::1]:8443/", "https", "::1", 8443, "/", "[::1]:8443"),
        ("https://bü.example/ä?ö", "https", "xn--b-eha.example", 443, "/%C3%A4?%C3%B6", "xn--b-eha.example"),
        ("https://BÜCHER.example/", "https", "xn--bcher-kva.example", 443, "/", "xn--bcher-kva.example"),
        ("https://xn--bcher-kva.example/", "https", "xn--bcher-kva.example", 443, "/", "xn--bcher-kva.example"),
        ("https://a_b.example/@x/%2e%2e/../y", "https", "a_b.example", 443, "/@x/%2e%2e/../y", "a_b.example"),
        ("https://3com.ex/?u=https://127.0.0.1/", "https", "3com.ex", 443, "/?u=https://127.0.0.1/", "3com.ex"),
    ],
)
def test_parts(url: str, scheme: str, host: str, port: int, path: str, authority: str) -> None:
    target = read_target(url)
    assert (target.scheme, target.host, target.port, target.path) == (scheme, host, port, path)
    assert target.authority == authority
    assert target.url == f"{scheme}://{authority}{path}"
    assert target.is_address == (host in ("1.1.1.1", "2606:4700::1111", "::1"))
    assert read_target(target.url) == target


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        (None, "must be a text, got NoneType"),
        (b"https://example.com/", "must be a text, got bytes"),
        (f"https://example.com/{'x' * 2048}", "2,068 characters long and the limit is 2,048"),
        (f"https://{'a' * 64}.example/", "its host is not a name"),
        (f"https://{'.'.join(['a' * 60] * 5)}/", "longer than 253"),
        ("https://example.com/#x", "the part after #"),
        ("https://example.com:0/", "port"),
        ("https://me:x@example.com/", "a user name or password; use a header"),
        ("ftp://example.com/", "its scheme is ftp; use https"),
        ("example.com", "write https://host/path"),
        ("https:///x", "no host"),
        ("https://2130706433/", "no plain IPv4 address"),
        ("https://[fe80::1%25eth0]/", "bound to one interface"),
        ("https://faß.example/", "xn--"),
    ],
)
def test_an_error_says_what_is_wrong(url: Any, reason: str) -> None:
    with pytest.raises(EndpointRefused, match=reason.replace("?", "[?]")):
        read_target(url)


def test_the_longest_host_and_url() -> None:
    host = ".".join(["a" * 62] * 4) + "b"
    assert len(host) == 252
    assert read_target(f"https://{host}/").host == host
    assert len(read_target(f"https://example.com/{'x' * 2028}").url) == 2048


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://me:secret@example.com/path?token=secret#secret", "https://…@example.com/path"),
        ("https://me:sec/ret@example.com/path", "https://…@example.com/path"),
        ("https://me:sec?ret@example.com/path", "https://…"),
        ("https://me:sec/re#t@example.com/path", "https://…"),
        ("me:secret@example.com", "…@example.com"),
        ("https://example.com/?token=secret", "https://example.com/"),
        ("https://example.com/\x1b[31m\n", "https://example.com/\ufffd[31m\ufffd"),
        ("https://example.com/" + "x" * 500, "https://example.com/" + "x" * 180 + "…"),
    ],
)
def test_what_is_shown_of_a_url(url: str, expected: str) -> None:
    assert shown(url) == expected


def test_a_target_does_not_show_its_query() -> None:
    target = read_target("https://example.com/@me/hook?token=secret@")
    assert target.shown == "https://example.com/@me/hook"
    assert "secret" in target.url
    assert "secret" not in f"{target!r} {target} {target.shown}"

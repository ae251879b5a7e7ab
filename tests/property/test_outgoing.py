"""Reading URLs and judging addresses: whatever is written, what is accepted is plain, and what wraps is not public."""

from __future__ import annotations

import ipaddress
import re
import string

from hypothesis import example, given
from hypothesis import strategies as st

from workbell.errors import EndpointRefused
from workbell.outgoing.address import is_public
from workbell.outgoing.permit import check_url
from workbell.outgoing.target import read_target, shown

addresses_4 = st.one_of(
    st.ip_addresses(v=4),
    # Near the edges of every network that is not public.
    st.builds(
        lambda text, step: ipaddress.IPv4Address((int(ipaddress.IPv4Address(text)) + step) % 2**32),
        st.sampled_from("0.0.0.0 10.0.0.0 100.64.0.0 127.0.0.0 169.254.0.0 172.16.0.0 192.168.0.0 224.0.0.0".split()),
        st.integers(-3, 3),
    ),
)
# Pieces of URLs, put together in any order: more likely to be nearly right than letters at random.
pieces = st.lists(
    st.one_of(
        st.sampled_from("https:// http:// @ : / ? # [ ] % \\ . .. 127.0.0.1 0x7f ::1 example.com localhost".split()),
        st.sampled_from(["xn--", ":443", "\u3002", "\uff11", "\u00ad", "\n", " ", "ß", "ü", "1", "-"]),
        st.text(max_size=3),
    ),
    max_size=12,
).map("".join)
urls = st.one_of(pieces, pieces.map(lambda text: f"https://{text}"))


@given(addresses_4)
def test_public_is_never_wider_than_the_standard_library_says(address: ipaddress.IPv4Address) -> None:
    if is_public(str(address)):
        assert address.is_global
        assert not address.is_multicast
        assert not address.is_reserved


@given(st.one_of(st.ip_addresses(v=6), st.ip_addresses(v=6, network="2000::/3")))
def test_the_same_of_ipv6(address: ipaddress.IPv6Address) -> None:
    if is_public(str(address)):
        assert address in ipaddress.IPv6Network("2000::/3")
        assert address.is_global
        assert address.ipv4_mapped is address.sixtofour is address.teredo is None


@example(ipaddress.IPv4Address("8.8.8.8"))
@example(ipaddress.IPv4Address("169.254.169.254"))
@given(addresses_4)
def test_what_wraps_an_address_is_not_public(inner: ipaddress.IPv4Address) -> None:
    """Mapped, translated, compatible, NAT64 in both prefixes, 6to4, Teredo, ISATAP: also of public addresses."""
    number = int(inner)
    wrapped = [
        0xFFFF << 32 | number,
        0xFFFF << 48 | number,
        number,
        0x64FF9B << 96 | number,
        0x64FF9B0001 << 80 | number,
        0x2002 << 112 | number << 80,
        0x20010000 << 96 | number ^ 0xFFFFFFFF,
        0x2400CB00 << 96 | 0x5EFE << 32 | number,
        0x2400CB00 << 96 | 0x02005EFE << 32 | number,
    ]
    assert not any(is_public(str(ipaddress.IPv6Address(address))) for address in wrapped)


@given(urls)
def test_anything_is_read_or_refused(url: str) -> None:
    try:
        target = read_target(url)
    except EndpointRefused as error:
        message = str(error)
        assert message.isprintable()
        return
    # What is sent is plain, and reading it again changes nothing.
    assert target.scheme in ("https", "http")
    assert 0 < target.port < 65536
    assert set(target.path) <= set(string.printable) - set(string.whitespace) - {"\\"}
    assert re.fullmatch(r"[a-z0-9_.:-]+", target.host)
    assert read_target(target.url) == target
    if target.is_address:
        assert str(ipaddress.ip_address(target.host)) == target.host
    else:
        assert not re.fullmatch(r"[0-9]+|0x[0-9a-f]*", target.host.rpartition(".")[2])


@given(urls)
def test_what_the_url_alone_allows(url: str) -> None:
    try:
        target = check_url(url)
    except EndpointRefused:
        return
    assert target.scheme == "https"
    assert not target.is_address or is_public(target.host)
    assert target.is_address or "." in target.host


@given(st.text(alphabet=string.ascii_letters + "/:?#", max_size=20), st.text(max_size=20))
def test_a_password_is_never_shown(password: str, rest: str) -> None:
    url = f"https://me:{password}canary{password}@example.com/{rest.replace('@', '')}"
    assert "canary" not in shown(url)

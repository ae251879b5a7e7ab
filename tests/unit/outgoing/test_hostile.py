"""No hostile URL opens a connection to an address that is not public (S9): seen at the socket."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from tests.support.dialled import Dialled
from workbell.errors import EndpointRefused, SendFailed
from workbell.outgoing.address import is_public, why_not_public
from workbell.outgoing.permit import check_addresses
from workbell.outgoing.resolve import ask_system, resolve
from workbell.outgoing.send import Sender
from workbell.outgoing.target import Target

CORPUS = json.loads((Path(__file__).parent / "hostile_urls.json").read_text("utf-8"))
GROUPS: dict[str, list[str]] = CORPUS["urls"]
NAMES: dict[str, list[str]] = CORPUS["names"]
PUBLIC = "93.184.216.34"

pytestmark = pytest.mark.anyio


class Names:
    """A resolver that knows the corpus, and reads numbers as generously as the C library does."""

    def __init__(self, names: dict[str, list[str]] | None = None) -> None:
        self.asked: list[str] = []
        self._names = NAMES if names is None else names

    async def __call__(self, host: str, port: int) -> list[str]:
        self.asked.append(host)
        if host in self._names:
            return self._names[host]
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
        return [str(entry[4][0]) for entry in found]


@pytest.fixture
def dialled(monkeypatch: pytest.MonkeyPatch) -> Dialled:
    return Dialled(monkeypatch)


def test_the_corpus_is_large_and_without_repetition() -> None:
    urls = [url for group in GROUPS.values() for url in group]
    assert len(urls) == len(set(urls)) >= 200


@pytest.mark.parametrize("group", GROUPS)
async def test_nothing_is_dialled(group: str, dialled: Dialled) -> None:
    sender = Sender(resolver=Names())
    for url in GROUPS[group]:
        # A name that leads to no address at all is no reason to give the endpoint up; everything else is refused.
        expected = SendFailed if "garbage" in url else EndpointRefused
        with pytest.raises(expected) as caught:
            await sender.post(url, b"{}")
        assert str(caught.value).endswith("."), url
        assert str(caught.value).isprintable(), url
        assert "password@" not in str(caught.value)
        assert dialled.addresses == [], url


@pytest.mark.parametrize("group", [group for group in GROUPS if group != "names that lead inside"])
async def test_without_asking_for_a_name(group: str) -> None:
    """Everything that its text gives away is refused as soon as somebody wants to keep the URL."""
    for url in GROUPS[group]:
        with pytest.raises(EndpointRefused):
            Sender().check(url)


async def test_what_is_public_is_dialled_and_seen(dialled: Dialled) -> None:
    """The proof that the tests above could fail."""
    for url in ("https://hooks.example.com/x", "https://hooks.example.com:8443/", f"https://{PUBLIC}/"):
        with pytest.raises(SendFailed, match="refused"):
            await Sender(resolver=Names()).post(url, b"{}")
    assert dialled.addresses == [PUBLIC] * 3


@pytest.mark.parametrize("family", ["93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946"])
async def test_a_name_is_resolved_once_and_only_that_is_dialled(family: str, dialled: Dialled) -> None:
    """DNS rebinding: a public answer first, and the metadata service from then on."""
    answers = iter([[family]])
    asked: list[str] = []

    async def rebinding(host: str, port: int) -> list[str]:
        asked.append(host)
        return next(answers, ["169.254.169.254"])

    with pytest.raises(SendFailed):
        await Sender(resolver=rebinding).post("https://rebind.attacker.example/", b"{}")
    assert asked == ["rebind.attacker.example"]
    assert dialled.addresses == [family]
    with pytest.raises(EndpointRefused, match="link-local"):
        await Sender(resolver=rebinding).post("https://rebind.attacker.example/", b"{}")
    assert dialled.addresses == [family]


async def test_no_library_resolves_again(dialled: Dialled, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the system would say of the name, nobody below asks it."""
    names: list[object] = []
    real = socket.getaddrinfo

    def watched(host: str, *given: object, **options: object) -> object:
        names.append(host)
        return real("169.254.169.254", *given, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(socket, "getaddrinfo", watched)

    async def once(host: str, port: int) -> list[str]:
        return [PUBLIC]

    with pytest.raises(SendFailed):
        await Sender(resolver=once).post("https://hooks.example.com/", b"{}")
    assert names == []
    assert dialled.addresses == [PUBLIC]


async def test_the_system_is_asked_by_default(dialled: Dialled, monkeypatch: pytest.MonkeyPatch) -> None:
    assert {why_not_public(address) for address in await ask_system("localhost", 443)} == {"loopback"}
    kinds = (socket.AF_INET6, socket.SOCK_STREAM, socket.IPPROTO_TCP, "")
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [(*kinds, ("fe80::1%eth0", 443, 0, 2))])
    with pytest.raises(EndpointRefused, match="bound to one interface"):
        await Sender().post("https://hooks.example.com/", b"{}")
    assert dialled.addresses == []


@pytest.mark.parametrize("addresses", [addresses for addresses in NAMES.values() if addresses != [PUBLIC]])
async def test_addresses_are_checked_by_themselves(addresses: list[str]) -> None:
    """The second wall: also where a URL had been read as a name, its addresses are looked at."""
    target = Target("https", "anything.example", 443, "/", is_address=False)

    async def say(host: str, port: int) -> list[str]:
        return addresses

    with pytest.raises((EndpointRefused, SendFailed)):
        await resolve(target, Sender().allow, say)


async def test_every_way_to_write_an_address_is_refused_by_its_address_too() -> None:
    """The same for numbers: what the C library would make of them is not public, or nothing."""
    names = Names({})
    for url in GROUPS["decimal, octal, hexadecimal and short forms"]:
        host = url.split("/")[2].partition(":")[0]
        try:
            addresses = await names(host, 443)
        except OSError:
            continue
        assert not any(is_public(address) for address in addresses), url
        with pytest.raises(EndpointRefused):
            check_addresses(Target("https", "name.example", 443, "/", is_address=False), addresses, Sender().allow)


async def test_of_many_addresses_few_are_tried(dialled: Dialled) -> None:
    async def many(host: str, port: int) -> list[str]:
        return [f"93.184.216.{number}" for number in range(1, 200)]

    with pytest.raises(SendFailed):
        await Sender(resolver=many).post("https://many.attacker.example/", b"{}")
    assert dialled.addresses == [f"93.184.216.{number}" for number in range(1, 5)]

"""Where a client sends its token, and where it refuses to."""

from __future__ import annotations

import pytest

import workbell
from workbell.errors import InvalidUrl
from workbell.remote.address import address_of

SECRET = "wb_a-very-secret-text"


@pytest.mark.parametrize(
    ("url", "base"),
    [
        ("https://bells.example.com", "https://bells.example.com/api/v1"),
        ("https://bells.example.com/", "https://bells.example.com/api/v1"),
        ("https://bells.example.com:8443/jobs/", "https://bells.example.com:8443/jobs/api/v1"),
        ("https://bells.example.com/api/v1", "https://bells.example.com/api/v1"),
        ("http://127.0.0.1:8321", "http://127.0.0.1:8321/api/v1"),
        ("http://localhost:8321", "http://localhost:8321/api/v1"),
        ("http://[::1]:8321", "http://[::1]:8321/api/v1"),
    ],
)
def test_paths_are_put_behind_the_prefix_of_the_api(url: str, base: str) -> None:
    assert address_of(url).base == base


@pytest.mark.parametrize(
    "url",
    ["http://bells.example.com", "http://10.0.0.7:8321", "http://127.0.0.1.example.com", "http://app.localhost:8321"],
)
def test_plain_http_to_another_machine_needs_a_word(url: str) -> None:
    with pytest.raises(InvalidUrl, match="insecure=True"):
        address_of(url)
    assert address_of(url, insecure=True).base.startswith(url)


@pytest.mark.parametrize(
    "url",
    [
        f"https://user:{SECRET}@bells.example.com",
        f"https://bells.example.com/?token={SECRET}",
        f"ftp://user:{SECRET}@bells.example.com",
        "sqlite:///workbell.db",
        "https://",
        "https://[::1",
        "https://bells.example.com:port",
        "bells.example.com",
        "",
        7,
    ],
)
def test_what_names_no_service_is_refused_without_its_secrets(url: object) -> None:
    with pytest.raises(InvalidUrl) as caught:
        address_of(url)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("token", ["", f"{SECRET}\n", f"{SECRET} x", f"{SECRET}ü", 7, b"wb_"])
def test_a_token_that_fits_no_header_is_refused_without_showing_it(token: object) -> None:
    with pytest.raises(InvalidUrl) as caught:
        workbell.Client("https://bells.example.com", token)  # type: ignore[arg-type]
    assert SECRET not in str(caught.value)


def test_the_client_shows_where_it_goes_and_not_its_token() -> None:
    client = workbell.Client("https://bells.example.com/jobs/", SECRET, tenant="acme")
    assert repr(client) == "Client('https://bells.example.com/jobs', tenant='acme')"
    assert repr(client.for_tenant("other")) == "Client('https://bells.example.com/jobs', tenant='other')"


@pytest.mark.parametrize("word", ["timeout", "connect_timeout"])
@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), "5"])
def test_no_deadline_can_be_left_out(word: str, value: object) -> None:
    with pytest.raises(workbell.InvalidOption):
        workbell.Client("https://bells.example.com", **{word: value})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:1/a b",
        "http://127.0.0.1:1/\x1b[31m",
        "https://bells.exa\tmple.com",
        "https://bells.example.com/a\nb",
        "https://bells.example.com/\x00",
        "https://bells.example.com/\u00a0a",
        "https://bells.example.com/\u202e",
        "https://bells.example.com/\ud800",
        "https://bells\ud800.example.com",
        f"https://user:{SECRET}@bells.example.com/a b",
        f"https://bells.example.com/a b?token={SECRET}",
    ],
)
def test_blanks_and_unprintable_characters_are_refused(url: str) -> None:
    with pytest.raises(InvalidUrl, match="blank or a character that cannot be printed") as caught:
        address_of(url)
    assert SECRET not in str(caught.value)
    assert str(caught.value).isprintable()


def test_blanks_around_a_url_do_not_matter() -> None:
    assert address_of(" https://bells.example.com\n").base == "https://bells.example.com/api/v1"


@pytest.mark.parametrize("url", ["https://xn--\u00df\u0301.example.com", "https://bells.example.com/" + "x" * 70_000])
def test_what_the_http_library_cannot_use_is_refused_before_the_first_verb(url: str) -> None:
    with pytest.raises(InvalidUrl, match="cannot be used"):
        workbell.Client(url, SECRET)

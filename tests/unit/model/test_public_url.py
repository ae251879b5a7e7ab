"""The public URL of the service, in the form in which browsers write an Origin."""

from __future__ import annotations

import pytest

from workbell.errors import SettingsError
from workbell.model.public_url import read_public_url


@pytest.mark.parametrize(
    ("text", "origin", "address"),
    [
        ("https://Jobs.Example.com/", "https://jobs.example.com", "https://jobs.example.com"),
        ("https://jobs.example.com:443", "https://jobs.example.com", "https://jobs.example.com"),
        ("https://jobs.example.com:8443/ops/", "https://jobs.example.com:8443", "https://jobs.example.com:8443/ops"),
        ("http://[::1]:8321", "http://[::1]:8321", "http://[::1]:8321"),
    ],
)
def test_what_it_names(text: str, origin: str, address: str) -> None:
    read = read_public_url(text)
    assert (read.origin, read.address, read.is_secure) == (origin, address, text.startswith("https"))


@pytest.mark.parametrize(
    "text",
    [
        "jobs.example.com",
        "ftp://jobs.example.com",
        "https://",
        "https://a:b@jobs.example.com",
        "https://jobs.example.com/?x=1",
        "https://jobs.example.com/#x",
        "https://jobs.example.com:99999",
        "https://jöbs.example.com",
        "https://jobs.example.com/<b>",
    ],
)
def test_what_it_cannot_be(text: str) -> None:
    with pytest.raises(SettingsError, match=r"http_public_url: .*; write it as https://"):
        read_public_url(text)

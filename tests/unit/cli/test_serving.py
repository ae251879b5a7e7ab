"""The address of the service that commands print."""

from __future__ import annotations

from workbell.cli.serving import address
from workbell.http.binding import bind
from workbell.settings import Settings


def test_the_public_address_is_printed_if_there_is_one() -> None:
    with bind(Settings(http_port=0)) as here:
        assert address(Settings(), here) == f"http://127.0.0.1:{here.getsockname()[1]}"
        assert address(Settings(http_public_url="https://Jobs.example.com/"), here) == "https://jobs.example.com"

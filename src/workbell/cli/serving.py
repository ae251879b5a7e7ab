"""Options of commands that serve the HTTP API: where it listens."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, TypeVar

import click

from workbell.model.public_url import read_public_url
from workbell.settings import Settings

log = logging.getLogger("workbell.http")

Command = TypeVar("Command", bound=Callable[..., Any])


def http_options(command: Command) -> Command:
    """Address of the HTTP API."""
    options = [
        click.option("--host", metavar="ADDRESS", help="Serve the API on this address; 127.0.0.1 if unset."),
        click.option(
            "--port", type=click.IntRange(0, 65535), help="Serve the API here; else on 8321, or the next free one."
        ),
        click.option("--http/--no-http", default=None, help="Whether the API is served at all."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def listen(settings: Settings) -> socket.socket | None:
    """Listening socket of the API; None if it is switched off, or its extra is not installed."""
    if not settings.http:
        return None
    if find_spec("starlette") is None or find_spec("uvicorn") is None:
        log.info("the HTTP API is not served: pip install 'workbell[server]'")
        return None
    from workbell.http.binding import bind

    return bind(settings)


def address(settings: Settings, http: socket.socket) -> str:
    """The URL of the service: the public one, else where it is reached from here."""
    from workbell.http.binding import url_from_here

    return public_address(settings) or url_from_here(*http.getsockname()[:2])


def public_address(settings: Settings) -> str | None:
    """The URL of the setting `http_public_url`."""
    return None if settings.http_public_url is None else read_public_url(settings.http_public_url).address

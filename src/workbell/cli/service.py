"""Commands over HTTP: `workbell --service URL …`, or WORKBELL_SERVICE; the token is in WORKBELL_TOKEN."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

if TYPE_CHECKING:
    from workbell.remote.client import Client

URL_VARIABLE, TOKEN_VARIABLE = "WORKBELL_SERVICE", "WORKBELL_TOKEN"
CHOSEN = "workbell.service"
CAPABLE = "works_over_service"

Command = TypeVar("Command", bound=Callable[..., Any])


class ChosenService(NamedTuple):
    """URL of the service that a command works on; by `--service`, or else by the environment."""

    url: str
    by_option: bool

    @property
    def without(self) -> str:
        """Remedy for a command that does not work over a service."""
        return "leave out --service" if self.by_option else f"unset {URL_VARIABLE}"


def service_option(command: Command) -> Command:
    """`--service`, of `workbell` itself: it stands before the command."""

    def remember(context: click.Context, option: click.Parameter, url: str | None) -> None:
        if url is not None:
            source = context.get_parameter_source(str(option.name))
            context.meta[CHOSEN] = ChosenService(url, source is click.core.ParameterSource.COMMANDLINE)

    option = click.option(
        "--service",
        metavar="URL",
        envvar=URL_VARIABLE,
        expose_value=False,
        callback=remember,
        help=f"Work over HTTP, on the service at this URL and with the token in {TOKEN_VARIABLE}, instead of on a "
        f"database; otherwise {URL_VARIABLE}.",
    )
    return option(command)


def over_service(command: Command) -> Command:
    """Mark a command that works over a service as well; all others refuse `--service`."""
    setattr(command, CAPABLE, True)
    return command


def is_capable(command: click.Command) -> bool:
    return getattr(command.callback, CAPABLE, False)


def chosen_service() -> ChosenService | None:
    context = click.get_current_context(silent=True)
    return None if context is None else context.meta.get(CHOSEN)


def check_service(context: click.Context, name: str, command: click.Command) -> None:
    """Refuse a service for a command that needs the database, the code or the files of a project."""
    chosen: ChosenService | None = context.meta.get(CHOSEN)
    if chosen is not None and not is_capable(command):
        raise click.UsageError(
            f"`{context.command_path} {name}` does not work over a service: {chosen.without}, and call it where the "
            "project or its database is.",
            context,
        )


@contextmanager
def connected(service: ChosenService, tenant: str | None) -> Iterator[Client]:
    """A client of the service for as long as the block lasts."""
    from workbell.errors import Unauthorized
    from workbell.remote.address import UrlWords, address_of
    from workbell.remote.client import Client

    words = UrlWords("service", f"give the token in {TOKEN_VARIABLE}", None)
    shown = address_of(service.url, words=words).shown
    token = os.environ.get(TOKEN_VARIABLE) or None
    with Client(service.url, token, tenant=tenant) as client:
        try:
            yield client
        except Unauthorized as error:
            if token is None:
                raise Unauthorized(
                    f"{shown} wants a token; set {TOKEN_VARIABLE} to one that `workbell tokens create` made there."
                ) from error
            raise Unauthorized(f"{shown} refuses the token in {TOKEN_VARIABLE}: {error}") from error

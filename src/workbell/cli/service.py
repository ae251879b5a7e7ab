"""Where a command works: on the store of `--url`, or over HTTP on the service of `--service` or WORKBELL_SERVICE."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click
from click.core import ParameterSource

if TYPE_CHECKING:
    from workbell.remote.client import Client

STORE, SERVICE = "--url", "--service"
URL_VARIABLE, TOKEN_VARIABLE = "WORKBELL_SERVICE", "WORKBELL_TOKEN"
HELP = {
    STORE: "The store: sqlite:///file.db or postgresql://host/database.",
    SERVICE: f"A service to work on over HTTP, with the token in {TOKEN_VARIABLE}; otherwise {URL_VARIABLE}.",
}

Command = TypeVar("Command", bound=Callable[..., Any])


class Place(NamedTuple):
    """URL of the store or of the service that a command works on; by an option, or else by the environment."""

    url: str
    by_option: bool

    @property
    def without(self) -> str:
        """Remedy for a command that does not work over a service."""
        return f"leave out {SERVICE}" if self.by_option else f"unset {URL_VARIABLE}"


class PlaceOption(click.Option):
    """`--url` or `--service`: of `workbell` itself and of its commands, so it stands before a command or after it."""

    def __init__(self, words: Sequence[str], **settings: Any) -> None:
        super().__init__(words, metavar="URL", callback=_settle, help=HELP[words[0]], **settings)


def url_option(command: Command) -> Command:
    return click.option(STORE, cls=PlaceOption)(command)


def over_service(command: Command) -> Command:
    """`--service`, of a command that works over a service as well; all others refuse it."""
    return click.option(SERVICE, cls=PlaceOption, expose_value=False)(command)


def place_options(command: Command) -> Command:
    """Both, of `workbell` itself. The environment is read only here: an option counts more on either side."""
    command = click.option(SERVICE, cls=PlaceOption, expose_value=False, envvar=URL_VARIABLE)(command)
    return click.option(STORE, cls=PlaceOption, expose_value=False)(command)


def _settle(context: click.Context, option: click.Parameter, url: str | None) -> str | None:
    """What the option says on either side of the command; on both it must say the same."""
    word = option.opts[0]
    before: Place | None = context.meta.get(word)
    if url is None:
        return None if before is None else before.url
    by_option = context.get_parameter_source(str(option.name)) is ParameterSource.COMMANDLINE
    if before is not None and before.by_option and before.url != url:
        from workbell.settings import safe_url

        raise click.UsageError(
            f"{word} names {safe_url(before.url)} before the command and {safe_url(url)} after it; give one of them.",
            context,
        )
    context.meta[word] = Place(url, by_option)
    return url


def is_capable(command: click.Command) -> bool:
    """Whether it works over a service."""
    return _takes(command, SERVICE)


def _takes(command: click.Command, word: str) -> bool:
    return any(isinstance(option, PlaceOption) and word in option.opts for option in command.params)


def chosen_service() -> Place | None:
    context = click.get_current_context(silent=True)
    return None if context is None else context.meta.get(SERVICE)


def check_places(context: click.Context, name: str, command: click.Command) -> None:
    """Refuse a place that was named before a command that does not work there."""
    path = f"{context.command_path} {name}"
    service: Place | None = context.meta.get(SERVICE)
    if service is not None and not is_capable(command):
        raise no_service(path, service, context)
    if STORE in context.meta and not _takes(command, STORE):
        raise click.UsageError(f"`{path}` takes no store by {STORE}; leave it out.", context)


def no_service(path: str, service: Place, context: click.Context) -> click.UsageError:
    """The refusal of a command that needs the database, the code or the files of a project."""
    return click.UsageError(
        f"`{path}` does not work over a service: {service.without}, and call it where the project or its database is.",
        context,
    )


@contextmanager
def connected(service: Place, tenant: str | None) -> Iterator[Client]:
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

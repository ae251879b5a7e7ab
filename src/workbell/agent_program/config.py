"""Configuration file `agent.toml`: the server, the name and labels, and the commands and jobs that may run here."""

from __future__ import annotations

import json
import os
import stat
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from workbell.agent_program.commands import Command, check_command
from workbell.errors import InvalidUrl, SettingsError
from workbell.remote.address import Address, UrlWords, address_of, check_token
from workbell.trust import files as trust

FILE = "agent.toml"
TOKEN_FILE = "agent.token"  # noqa: S105  a name, and no secret
OF_AGENT = UrlWords(
    there="server",
    sign_in="pair the agent with `workbell agent pair`",
    allow_plain=f"insecure = true in {FILE} (`--insecure` to pair)",
)


class AgentConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that can be set. Spans are in seconds; relative paths are relative to the file's folder."""

    url: str
    token_file: str = TOKEN_FILE
    name: str | None = None
    labels: tuple[str, ...] = ()
    app: str | None = None  # "module:bell": its jobs are run here
    jobs: str | None = None  # a folder of job files
    commands: dict[str, Command] = {}
    capacity: int = 4
    lease: float = 30.0
    grace: float = 25.0  # for what is running to end, when the agent is stopped
    ca_file: str | None = None  # of a certificate authority of one's own
    insecure: bool = False  # plain HTTP to another machine


class AgentFolder(msgspec.Struct, frozen=True):
    """A configuration, and the folder that it is in."""

    config: AgentConfig
    folder: Path

    @property
    def token_file(self) -> Path:
        return self.folder / self.config.token_file


def read_config(file: Path) -> AgentFolder:
    try:
        if str(file) != FILE:
            trust.vouch_for(file, file.parent)  # the user named it; the one in the current folder may be anybody's
        text = trust.read(file).decode("utf-8")
    except OSError as error:
        raise SettingsError(
            f"{file}: {error.strerror}; `workbell agent pair` makes it, or name another with --config."
        ) from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"{file}: {error}.") from error
    try:
        config = msgspec.convert(tomllib.loads(text), AgentConfig)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        message = str(error).replace("Object contains unknown field", "there is no setting").replace("`", "'")
        raise SettingsError(f"{file}: {message}.") from error
    return AgentFolder(checked(config), file.resolve().parent)


def checked(config: AgentConfig) -> AgentConfig:
    server_address(config)
    for name, low, high in (("capacity", 1, 100), ("lease", 5, 3600), ("grace", 0, 86400)):
        value = getattr(config, name)
        if not low <= value <= high:
            raise SettingsError(f"{FILE}: {name} = {value:g} is not from {low} to {high}.")
    for name, command in config.commands.items():
        check_command(name, command)
    return config


def server_address(config: AgentConfig) -> Address:
    """The server. Without TLS the token could be read on the way: only to this machine, or with `insecure`."""
    try:
        return address_of(config.url, insecure=config.insecure, words=OF_AGENT)
    except InvalidUrl as error:
        raise SettingsError(f"url: {error}") from None


def paired_config(file: Path, known: AgentConfig | None, given: dict[str, Any]) -> AgentConfig:
    """The configuration that an agent is paired with: that of the file, or a new one of the options that were given.

    Options that contradict the file are refused. The file stays as it is, so that otherwise the token of one server
    would be sent to the server that the file names. Names and labels that it does not set are for this pairing.
    """
    if known is None:
        token_file = Path(file.name).with_suffix(".token").name  # each configuration has its own
        return checked(AgentConfig(**given, token_file=TOKEN_FILE if token_file == file.name else token_file))
    config = checked(msgspec.structs.replace(known, **given))
    old, new = server_address(known), server_address(config)
    for option, setting, differs, has, wanted in (
        ("--url", "url", _place(old) != _place(new), old.shown, new.shown),
        ("--name", "name", known.name not in (None, config.name), known.name, config.name),
        ("--label", "labels", known.labels and {*known.labels} != {*config.labels}, [*known.labels], [*config.labels]),
        ("--insecure", "insecure", known.insecure != config.insecure, known.insecure, config.insecure),
    ):
        if differs:
            raise SettingsError(
                f"{file}: its {setting} is {json.dumps(has)}, and {option} says {json.dumps(wanted)}; change it there, "
                "or pair with another file: --config."
            )
    return msgspec.structs.replace(config, url=known.url)


def _place(address: Address) -> tuple[str, str | None, int, str]:
    """Scheme, host, port and path of a server; two spellings of the same place are equal."""
    parts = urlsplit(address.base)
    return parts.scheme, parts.hostname, parts.port or (443 if parts.scheme == "https" else 80), parts.path


def read_token(file: Path) -> str:
    """The agent's token; a file that others can read is refused."""
    try:
        mode = stat.S_IMODE(file.stat().st_mode)
        if os.name == "posix" and mode & 0o077:
            raise SettingsError(f"{file}: others can read it (mode {mode:o}); `chmod 600` it, or pair the agent again.")
        text = file.read_text("ascii").strip()
        check_token(text)
        return text
    except (OSError, UnicodeDecodeError, InvalidUrl) as error:
        raise SettingsError(
            f"{file}: no token can be read there; pair the agent with `workbell agent pair`."
        ) from error


def write_token(file: Path, text: str) -> None:
    """Write the token file atomically, readable by the owner only."""
    new = file.with_name(f"{file.name}.new")
    new.unlink(missing_ok=True)
    handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="ascii") as out:
        out.write(f"{text}\n")
    new.replace(file)

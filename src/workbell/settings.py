"""Settings: flag > environment > workbell.toml > default. What is unset at one level never hides the level below."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn

import msgspec
from msgspec.structs import asdict

from workbell.errors import SettingsError
from workbell.logs.handler import FORMATS
from workbell.logs.secrets import url_without_secrets, without_secrets
from workbell.model.run_defaults import RESCHEDULES
from workbell.model.state import Retention
from workbell.model.suggestions import list_options

log = logging.getLogger("workbell")

FILE = "workbell.toml"
PREFIX = "WORKBELL_"
IN_STORE = "store://"  # the queue that is the store's own hints
POLL, POLL_WITH_QUEUE = 1.0, 5.0  # seconds
SWEEP = 5.0  # seconds
YES_OR_NO = {"yes": True, "on": True, "true": True, "1": True, "no": False, "off": False, "false": False, "0": False}

_warned: set[str] = set()  # variables


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that can be set, with its default. Spans are in seconds."""

    url: str = "sqlite:///workbell.db"
    queue_url: str = IN_STORE
    app: str | None = None
    project: str | None = None
    jobs: str = "jobs"
    database: str = "sqlite:///app.db"
    storage: str = "storage"
    timezone: str | None = None
    tenant: str = "default"
    log_level: str = "info"
    log_format: str = "auto"
    workers: int = 1
    concurrency: int = 10
    connections: int | None = None
    lease: float = 30.0
    sweep: float | None = None
    poll: float | None = None
    grace: float = 25.0
    probe: str | None = None
    reschedules: int = RESCHEDULES
    clean_every: float = 3600.0
    keep_succeeded: float = 7 * 86400.0
    keep_other: float = 30 * 86400.0
    keep_events: float = 30 * 86400.0
    keep_audit: float = 365 * 86400.0
    webhook_allow: tuple[str, ...] = ()
    webhook_disable_after: float = 5 * 86400.0
    secret_key: str | None = None
    http: bool = True
    http_host: str = "127.0.0.1"
    http_port: int | None = None
    http_auth: str = "token"
    http_hosts: tuple[str, ...] = ()
    http_public_url: str | None = None
    http_trusted_proxies: tuple[str, ...] = ()
    http_body_limit: int = 8 * 1024 * 1024
    http_rate: float = 0.0
    http_log: str = "all"
    http_metrics_open: bool = False
    sockets: int = 10_000
    sockets_per_user: int = 20

    def __repr__(self) -> str:
        return f"Settings({', '.join(f'{name}={value!r}' for name, value in self.__rich_repr__())})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        """Settings for logs, without passwords and keys."""
        urls = {name: url_without_secrets(getattr(self, name)) for name in ("url", "queue_url", "database")}
        shown = asdict(self) | urls | ({"secret_key": "…"} if self.secret_key else {})
        return [(name, without_secrets(value) if isinstance(value, str) else value) for name, value in shown.items()]

    @property
    def lease_span(self) -> timedelta:
        return timedelta(seconds=self.lease)

    @property
    def poll_pace(self) -> float:
        """Seconds between polls. Beside a queue they only find what it has lost, and all workers poll."""
        if self.poll is not None:
            return self.poll
        return POLL if self.queue_url == IN_STORE else POLL_WITH_QUEUE

    @property
    def sweep_pace(self) -> float:
        """Seconds between searches for expired leases. Each is a call to the store, so they follow a longer poll, up to
        a lease: a run comes back after two leases at the most."""
        return max(SWEEP, min(self.poll_pace, self.lease)) if self.sweep is None else self.sweep

    @property
    def keep(self) -> Retention:
        spans = (self.keep_succeeded, self.keep_other, self.keep_events, self.keep_audit)
        return Retention(*(timedelta(seconds=span) for span in spans))


def find_file(start: Path | None = None) -> Path | None:
    """The workbell.toml of this folder or the nearest one above it."""
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        file = folder / FILE
        try:
            if file.is_file():
                return file
        except OSError as error:
            raise SettingsError(f"{file}: {error.strerror}; make {folder} readable for this user.") from error
    return None


def load(
    flags: Mapping[str, Any] | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    file: Path | None = None,
) -> Settings:
    """The settings in force. `flags` that are None count as not given."""
    given: dict[str, Any] = {}
    sources: dict[str, str] = {}  # of each setting: what to change if it cannot be used
    if file is not None:
        found = _from_file(file)
        given |= _paths_of(file, found)
        sources |= dict.fromkeys(found, str(file))
    in_environment = _from_environment(os.environ if environment is None else environment)
    sources |= {name: PREFIX + name.upper() for name in in_environment}
    given |= in_environment
    said = {name: value for name, value in (flags or {}).items() if value is not None}
    given |= said
    sources |= dict.fromkeys(said, "Settings")
    try:
        # strict=False: what comes from the environment is text.
        settings = msgspec.convert(given, Settings, strict=False)
    except msgspec.ValidationError as error:
        raise _of_wrong_type(given, sources) from error
    _check(settings, sources)
    return settings


def _of_wrong_type(given: Mapping[str, Any], sources: Mapping[str, str]) -> SettingsError:
    """The message about the first unknown setting, or value of a wrong type. The value may be a secret."""
    fields = {field.name: field for field in msgspec.structs.fields(Settings)}
    for name, value in given.items():
        if name not in fields:
            known = list_options(name, fields, called="settings")
            return SettingsError(f"{sources[name]}: there is no setting {name!r}; {known}")
        try:
            msgspec.convert(value, fields[name].type, strict=False)
        except msgspec.ValidationError as error:
            message = str(error).replace("`", "").replace(" - at $", " at ")
            default = fields[name].default
            example = "" if default is None or isinstance(default, str | tuple) else f", such as {default!r}".lower()
            return SettingsError(
                f"{sources[name]}: {name}: {message[:1].lower()}{message[1:]}; give it a value of that type{example}."
            )
    raise AssertionError("each is fine alone")


def warn_of_misspelt(environment: Mapping[str, str] | None = None) -> None:
    """Log a warning, once, for variables that are nearly the name of a setting. Others may be another program's."""
    names = [name.upper() for name in Settings.__struct_fields__]
    for variable in os.environ if environment is None else environment:
        name = variable.removeprefix(PREFIX)
        if not variable.startswith(PREFIX) or name in names or variable in _warned:
            continue
        near = get_close_matches(name, names, 1, cutoff=0.8)
        if near:
            _warned.add(variable)
            log.warning("%s is no setting and is ignored; did you mean %s%s?", variable, PREFIX, near[0])


def _from_file(file: Path) -> dict[str, Any]:
    import tomllib

    from workbell.trust import files as trust

    try:
        return tomllib.loads(trust.read(file).decode("utf-8"))
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file}: {error}.") from error


def _paths_of(file: Path, found: dict[str, Any]) -> dict[str, Any]:
    """Relative paths in a workbell.toml start from its own folder, and so do default paths: a project is one folder,
    wherever in it a command is called."""
    given = asdict(beside(file)) | found
    for name in ("url", "database"):
        if name in found and isinstance(found[name], str) and _is_relative(found[name]):
            given[name] = f"sqlite:///{file.parent / found[name].removeprefix('sqlite:///')}"
    for name in ("jobs", "storage"):
        if name in found and isinstance(found[name], str):
            given[name] = str(file.parent / found[name])
    return given


def _is_relative(url: str) -> bool:
    return url.startswith("sqlite:///") and not url.startswith("sqlite:////")


def beside(file: Path) -> Settings:
    """The settings of an empty workbell.toml."""
    folder = file.parent
    return Settings(
        project=folder.name,
        url=f"sqlite:///{folder / 'workbell.db'}",
        database=f"sqlite:///{folder / 'app.db'}",
        jobs=str(folder / "jobs"),
        storage=str(folder / "storage"),
    )


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    given: dict[str, Any] = {
        name: environment[PREFIX + name.upper()]
        for name in Settings.__struct_fields__
        if environment.get(PREFIX + name.upper())
    }
    for name in ("http", "http_metrics_open"):
        if name in given:
            given[name] = YES_OR_NO.get(given[name].lower(), given[name])
    for name in ("webhook_allow", "http_hosts", "http_trusted_proxies"):
        if name in given:
            given[name] = [entry.strip() for entry in given[name].split(",") if entry.strip()]
    return given


def _check(settings: Settings, sources: Mapping[str, str]) -> None:
    """Raise for the first value that cannot be used."""

    def refuse(name: str, why: str) -> NoReturn:
        raise SettingsError(f"{sources.get(name, 'Settings')}: {name} = {getattr(settings, name)!r} {why}.")

    bounds: dict[str, tuple[float, float]] = {"workers": (0, 1000), "concurrency": (1, 10_000), "lease": (0.5, 86400)}
    bounds |= {"connections": (2, 1000)}
    bounds |= {"reschedules": (0, 1000), "clean_every": (1, 86400 * 30)}
    bounds |= {"sweep": (0.05, 3600), "poll": (0.005, 60)}
    bounds |= {"grace": (0, 86400), "keep_succeeded": (0, 1e10), "keep_other": (0, 1e10), "keep_events": (0, 1e10)}
    bounds |= {"keep_audit": (0, 1e10), "webhook_disable_after": (60, 1e10)}
    bounds |= {"http_port": (0, 65535), "http_body_limit": (1024, 2**30), "http_rate": (0, 1e6)}
    bounds |= {"sockets": (1, 1_000_000), "sockets_per_user": (1, 1_000_000)}
    for name, (low, high) in bounds.items():
        value = getattr(settings, name)
        if value is not None and not low <= value <= high:
            refuse(name, f"is not from {low:g} to {high:g}")
    if settings.log_level.upper() not in ("DEBUG", "INFO", "WARNING", "ERROR"):
        refuse("log_level", "is none of debug, info, warning, error")
    if settings.log_format not in FORMATS:
        refuse("log_format", f"is none of {', '.join(FORMATS)}")
    for name, words in (("http_auth", ("token", "none")), ("http_log", ("all", "problems"))):
        if getattr(settings, name) not in words:
            refuse(name, f"is none of {', '.join(words)}")
    for name, read in _READERS.items():
        value = getattr(settings, name)
        try:
            if value not in (None, ()):
                read(value)
        except SettingsError as error:
            why = str(error).removeprefix("Settings: ")
            raise SettingsError(f"{sources.get(name, 'Settings')}: {why}") from None


def _read_allow_list(entries: Sequence[str]) -> object:
    from workbell.outgoing.allow import AllowList

    return AllowList.parse(entries)


def _read_public_url(text: str) -> object:
    from workbell.model.public_url import read_public_url

    return read_public_url(text)


def _read_proxies(entries: Sequence[str]) -> object:
    from workbell.model.client_address import TrustedProxies

    return TrustedProxies.parse(entries)


def _read_probe(text: str) -> object:
    from workbell.model.listen_address import read_listen_address

    return read_listen_address(text)


_READERS: Mapping[str, Callable[[Any], object]] = {  # raise SettingsError, and are loaded for what is set
    "webhook_allow": _read_allow_list,
    "http_public_url": _read_public_url,
    "http_trusted_proxies": _read_proxies,
    "probe": _read_probe,
}


def safe_url(url: str) -> str:
    """A URL that can be shown: without the password, and a file as seen from here."""
    shown = url_without_secrets(url)
    here = f"sqlite:///{Path.cwd()}/"
    return f"sqlite:///{shown.removeprefix(here)}" if shown.startswith(here) else shown

"""Allowlist of targets that are not public, set by the operator: for tests, and private networks.

An entry is a network (`10.0.0.0/8`, `127.0.0.1`, `::1`) or a name (`hooks.internal`, `*.internal`), each also with
a port (`127.0.0.1:8080`, `[::1]:8080`, `10.0.0.0/8:8080`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import NamedTuple

from workbell.errors import SettingsError

_NAME = re.compile(r"(\*\.)?[a-z0-9_]([a-z0-9_.-]{0,250}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")


class _Network(NamedTuple):
    network: IPv4Network | IPv6Network
    port: int | None


class _Name(NamedTuple):
    name: str  # with `*.` in front: every name below it
    port: int | None

    def fits(self, host: str) -> bool:
        return host.endswith(self.name[1:]) if self.name.startswith("*.") else host == self.name


class AllowList(NamedTuple):
    """Allow list of targets over http and at addresses that are not public. Empty: none."""

    networks: tuple[_Network, ...] = ()
    names: tuple[_Name, ...] = ()

    @classmethod
    def parse(cls, entries: Iterable[str]) -> AllowList:
        """The list that a setting describes; raises for the first entry that cannot be read."""
        found = [_read(entry) for entry in entries]
        return cls(
            tuple(entry for entry in found if isinstance(entry, _Network)),
            tuple(entry for entry in found if isinstance(entry, _Name)),
        )

    def allows_name(self, host: str, port: int) -> bool:
        """Whether this very name is allowed, wherever it leads."""
        return any(entry.fits(host) for entry in self.names if entry.port in (None, port))

    def allows_address(self, address: str, port: int) -> bool:
        """Whether the address lies in an allowed network. A mapped IPv4 address does not lie in an IPv4 network."""
        try:
            found = ip_address(address)
        except ValueError:
            return False
        if getattr(found, "scope_id", None) is not None:
            return False
        return any(found in entry.network for entry in self.networks if entry.port in (None, port))


def _read(entry: str) -> _Network | _Name:
    text, port = _without_port(entry, entry.strip().lower())
    try:
        return _Network(ip_network(text), port)
    except ValueError as error:
        number = "/" in text or ":" in text or _NUMBER.fullmatch(text.rpartition(".")[2])
        if number or not _NAME.fullmatch(text) or ".." in text:
            reason = f" ({error})" if "host bits" in str(error) else ""
            raise SettingsError(
                f"Settings: webhook_allow: {entry!r} is neither a network nor a host name{reason}; "
                "write 10.0.0.0/8, 127.0.0.1:8080, [::1]:8080, hooks.internal or *.internal."
            ) from None
    return _Name(text, port)


def _without_port(entry: str, text: str) -> tuple[str, int | None]:
    """Host and port. An IPv6 address with a port has brackets."""
    found = re.fullmatch(r"\[([^\]]*)\](?::(\d+))?|([^:\[\]]*):(\d+)", text, re.ASCII)
    if found is None:
        return text, None
    port = found[2] or found[4]
    if port is not None and not (len(port) <= 5 and 0 < int(port) < 65536):
        raise SettingsError(f"Settings: webhook_allow: {entry!r}: the port is not from 1 to 65535.")
    return found[1] if found[3] is None else found[3], None if port is None else int(port)

"""Permission to send to a target: by its URL, before anything is resolved, and by its addresses after."""

from __future__ import annotations

from collections.abc import Sequence

from workbell.errors import EndpointRefused
from workbell.outgoing.address import why_not_public
from workbell.outgoing.allow import AllowList
from workbell.outgoing.target import Target, read_target

REMEDY = "if that is meant, the operator can allow it with the setting webhook_allow"


def check_url(url: str, allow: AllowList | None = None) -> Target:
    """Read a URL and refuse what can be refused without resolving its name. The addresses are checked when sending."""
    allow = allow or AllowList()
    target = read_target(url)
    if allow.allows_name(target.host, target.port):
        return target
    if target.is_address:
        check_addresses(target, [target.host], allow)
    elif target.scheme != "https" and not allow.networks:
        raise EndpointRefused(f"{target.shown}: http is not encrypted; use https; {REMEDY}.")
    elif "." not in target.host and not allow.networks:
        raise EndpointRefused(f"{target.shown}: {target.host} is a name of a private network; {REMEDY}.")
    return target


def check_addresses(target: Target, addresses: Sequence[str], allow: AllowList) -> None:
    """Refuse if any of the addresses is neither public nor allowed: the system chooses which of them is used."""
    if allow.allows_name(target.host, target.port):
        return
    outside = [address for address in addresses if not allow.allows_address(address, target.port)]
    for address in outside:
        reason = why_not_public(address)
        if reason is not None:
            leads = "the address" if target.is_address else f"{target.host} leads to {address}, which"
            raise EndpointRefused(f"{target.shown}: {leads} is not public ({reason}); {REMEDY}.")
    if outside and target.scheme != "https":
        raise EndpointRefused(f"{target.shown}: http is not encrypted; use https; {REMEDY}.")
    if outside and "." not in target.host and not target.is_address:
        raise EndpointRefused(f"{target.shown}: {target.host} is a name of a private network; {REMEDY}.")

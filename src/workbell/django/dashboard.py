"""Address of the dashboard, and single-use sign-ins to it for staff of the admin site."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from workbell.errors import MissingPackage, ServiceUnavailable
from workbell.model.access import EVERY_TENANT, Scope
from workbell.model.audit import Actor, ActorKind
from workbell.model.loopback import is_loopback
from workbell.model.public_url import read_public_url

if TYPE_CHECKING:
    from workbell.django.backend import WorkbellBackend

GOOD_FOR = timedelta(minutes=5)  # the browser is sent there at once


def scope_of(user: Any) -> Scope | None:
    """Scope of a member of the staff: superusers are administrators; others go by their permissions."""
    if user.is_superuser:
        return Scope.ADMIN
    if user.has_perm("workbell.change_run"):
        return Scope.OPERATE
    return Scope.READ if user.has_perm("workbell.view_run") else None


def sign_in_url(backend: WorkbellBackend, request: Any, scope: Scope) -> str:
    """An address of the dashboard that signs its first reader in, once."""
    try:
        from workbell.http.pages.login import login_url
    except ImportError as error:
        raise MissingPackage("The dashboard needs its packages: pip install 'workbell[server]'.") from error
    address = _address(backend, request).rstrip("/")
    client, person = backend.bells.client, request.user.get_username()
    url = login_url(
        client,
        address,
        scopes=(scope.value,),
        tenant=EVERY_TENANT if scope is Scope.ADMIN else client.tenant,
        name=f"{person} (Django)",
        good_for=GOOD_FOR,
        created_by=person,
    )
    client.audit.add(
        "tokens.url", address, actor=Actor(kind=ActorKind.APP, name=person), detail={"scopes": [scope.value]}
    )
    return url


def _address(backend: WorkbellBackend, request: Any) -> str:
    from workbell.http.policies.service_address import running_at

    named = backend.options.get("dashboard")
    if named is not None:
        return str(request.build_absolute_uri(named))
    client = backend.bells.client
    public = client.settings.http_public_url
    found = running_at(client.store) if public is None else read_public_url(public).address
    if found is None or (public is None and not _leads_there(found, request)):
        raise ServiceUnavailable(
            "No service with a dashboard can be reached from here; start one with `manage.py workbell start`, "
            f'or say where it is: TASKS[{backend.alias!r}]["OPTIONS"]["dashboard"].'
        )
    return found


def _leads_there(address: str, request: Any) -> bool:
    """Whether the browser reaches the service: a loopback address on another machine is another program's."""
    browser = urlsplit(f"//{request.get_host()}").hostname or ""
    return is_loopback(browser) or not is_loopback(urlsplit(address).hostname or "")

"""Dashboard for staff of the admin site: its address, single-use sign-ins to it, and the end of their sessions.

Each sign-in notes for whom Django vouches. Where Django lets somebody go, its signals end their sessions after the
commit. What sends no signal, such as a bulk update, counts when the session ends by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from django.apps import apps
from django.db import connections, router, transaction

from workbell.access.tokens import made_with
from workbell.errors import MissingPackage, ServiceUnavailable
from workbell.model.access import EVERY_TENANT, INCLUDED, VOUCHED, Scope, Token, TokenKind
from workbell.model.audit import Actor, ActorKind
from workbell.model.loopback import is_loopback
from workbell.model.public_url import read_public_url

if TYPE_CHECKING:
    from workbell.app import Workbell
    from workbell.django.backend import WorkbellBackend

GOOD_FOR = timedelta(minutes=5)  # the browser is sent there at once
DJANGO = f"{VOUCHED}django "  # before the mark of a person


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
        created_by=DJANGO + _mark_of(request.user),
    )
    client.audit.add(
        "tokens.url", address, actor=Actor(kind=ActorKind.APP, name=person), detail={"scopes": [scope.value]}
    )
    return url


def _address(backend: WorkbellBackend, request: Any) -> str:
    from workbell.http.binding import running_at

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


# The end of sessions


class SignIn(NamedTuple):
    """A sign-in that Django vouched for, and that is still good: its URL, or the session that was made with it."""

    client: Workbell
    token: Token
    mark: str


def watch_people() -> None:
    """End sessions as Django signs people out, or changes what they may do. Called once, when all models are there."""
    from django.contrib.auth import get_user_model
    from django.contrib.auth.models import Group, Permission
    from django.contrib.auth.signals import user_logged_out
    from django.db.models.signals import m2m_changed, post_delete, post_save

    user = get_user_model()
    people = [model for model in apps.get_models() if issubclass(model, user)]  # proxies send signals of their own
    links = [getattr(user, name).through for name in ("groups", "user_permissions") if hasattr(user, name)]
    user_logged_out.connect(_signed_out, dispatch_uid="workbell.signed_out")
    for model in people:
        post_save.connect(_saved, sender=model, dispatch_uid="workbell.saved")
    for model in (*people, Group, Permission):
        post_delete.connect(_changed, sender=model, dispatch_uid="workbell.deleted")
    for link in (*links, Group.permissions.through):
        m2m_changed.connect(_changed, sender=link, dispatch_uid="workbell.changed")


def _signed_out(user: Any, **_more: Any) -> None:
    if user is not None:
        pk = str(user.pk)
        _after_commit(_database(), lambda sign_in: _pk_of(sign_in.mark) == pk)


def _saved(instance: Any, created: bool, update_fields: Any, using: str, **_more: Any) -> None:
    if created or (update_fields is not None and {*update_fields} <= {"last_login"}):  # which every sign-in sets
        return
    pk = str(instance.pk)
    _after_commit(using, lambda sign_in: _pk_of(sign_in.mark) == pk and not _is_good(sign_in))


def _changed(using: str, action: str = "post_", **_more: Any) -> None:
    """Permissions: whom a change of a group concerns is asked of Django, about all who are signed in."""
    if action.startswith("post_"):
        _after_commit(using, lambda sign_in: not _is_good(sign_in))


def _database() -> str:
    """Where people are written: a replica may not know yet what was changed."""
    from django.contrib.auth import get_user_model

    return str(router.db_for_write(get_user_model()))


def _after_commit(using: str, is_over: Callable[[SignIn], bool]) -> None:
    """End sign-ins once the change is committed. An error is logged by Django, and stops nothing of the application."""

    def end() -> None:
        for sign_in in [one for one in _sign_ins() if is_over(one)]:
            client, token, _ = sign_in
            client.tokens.revoke(token.id, tenant=token.tenant)
            client.audit.add(
                "session.end", token.id, actor=Actor(kind=ActorKind.APP, name="django"), detail={"name": token.name}
            )

    connection = connections[using]
    if connection.in_atomic_block or connection.get_autocommit():  # else Django does not say when it is committed
        transaction.on_commit(end, using=using, robust=True)


def _sign_ins() -> Iterator[SignIn]:
    from workbell.django.backend import WorkbellBackend
    from workbell.django.compat import task_backends

    for backend in [task_backends[alias] for alias in task_backends]:
        if isinstance(backend, WorkbellBackend):
            client = backend.bells.client
            now = client.store.clock.now()
            for tenant in (client.tenant, EVERY_TENANT):
                tokens = [*client.store.tokens.every(tenant)]
                sessions = {one.created_by for one in tokens if one.kind is TokenKind.SESSION and one.is_valid(now)}
                ours = [one for one in tokens if one.kind is TokenKind.LOGIN and one.created_by.startswith(DJANGO)]
                for token in ours:
                    if token.is_valid(now) or made_with(token.id) in sessions:
                        yield SignIn(client, token, token.created_by.removeprefix(DJANGO))


def _is_good(sign_in: SignIn) -> bool:
    """Whether Django would make the same sign-in now."""
    from django.contrib.auth import get_user_model

    user = get_user_model()._base_manager.using(_database()).filter(pk=_pk_of(sign_in.mark)).first()
    if user is None or not (user.is_active and user.is_staff) or _mark_of(user) != sign_in.mark:
        return False
    scope = scope_of(user)
    return scope is not None and INCLUDED[scope].issuperset(sign_in.token.scopes)


def _mark_of(user: Any) -> str:
    """Which person, with which password: of the hash by which Django ends its own sessions, the beginning."""
    return f"{user.get_session_auth_hash()[:16]} {user.pk}"


def _pk_of(mark: str) -> str:
    return mark.partition(" ")[2]

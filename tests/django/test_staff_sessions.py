"""The dashboard's sessions of Django's staff: they end when Django lets the person go, and after an hour."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import httpx2
import pytest
from django.contrib.auth.models import Group, Permission, User
from django.core.management import call_command
from django.db import transaction
from django.test import Client, override_settings

from tests.django.models import Colleague
from tests.support.django_site import BACKEND
from tests.support.served import Served, served
from tests.support.waiting import until
from workbell.django.compat import task_backends
from workbell.model.access import EVERY_TENANT, TokenKind

PAGE = "/admin/workbell/run/"


@pytest.fixture
def service(shared_site: str) -> Iterator[Served]:
    """The service of `manage.py workbell start`, on connections of its own; and a Django with people."""
    call_command("migrate", verbosity=0)
    bell = task_backends["default"].bells.engine
    with served(bell) as server:
        options = {"dashboard": server.url}
        with override_settings(TASKS={"default": {"BACKEND": BACKEND, "QUEUES": [], "OPTIONS": options}}):
            yield server


class Staff:
    """A member of the staff, with a browser that is signed in to Django, and to the dashboard."""

    def __init__(self, service: Served, name: str = "ada", **what: Any) -> None:
        self.service = service
        self.user = User.objects.create_user(name, password="first", is_staff=True, **what)
        if not self.user.is_superuser:
            Group.objects.get_or_create(name="runs")[0].permissions.add(permission("change_run"))
            self.user.groups.add(Group.objects.get(name="runs"))
        self.django = Client()
        assert self.django.login(username=name, password="first")
        self.http = httpx2.Client(base_url=service.url)
        assert self.sign_in(self.url()) == 303
        assert self.status() == 200

    def url(self) -> str:
        """What the button of the admin page leads to."""
        location: str = self.django.post(PAGE, {"backend": "default"}).headers["Location"]
        return location

    def sign_in(self, url: str) -> int:
        text = url.partition("?token=")[2]
        return self.http.post("/", data={"url_token": text}, headers={"Origin": self.service.url}).status_code

    def status(self) -> int:
        return self.http.get("/api/v1/runs").status_code

    def is_out(self) -> None:
        until(lambda: self.status() == 401, "the end of the session")

    def close(self) -> None:
        self.http.close()

    # What Django does

    def signs_out(self) -> None:
        self.django.logout()

    def is_deactivated(self) -> None:
        self.user.is_active = False
        self.user.save()

    def is_no_staff(self) -> None:
        self.user.is_staff = False
        self.user.save(update_fields=["is_staff"])

    def has_another_password(self) -> None:
        self.user.set_password("second")
        self.user.save()

    def is_deactivated_by_another_class(self) -> None:
        colleague = Colleague.objects.get(pk=self.user.pk)
        colleague.is_active = False
        colleague.save()

    def is_deleted_by_another_class(self) -> None:
        Colleague.objects.get(pk=self.user.pk).delete()

    def is_deleted(self) -> None:
        self.user.delete()

    def leaves_its_group(self) -> None:
        self.user.groups.clear()

    def is_taken_out_of_the_group(self) -> None:
        Group.objects.get(name="runs").user_set.remove(self.user)

    def loses_the_group(self) -> None:
        Group.objects.get(name="runs").delete()

    def has_a_group_that_may_less(self) -> None:
        Group.objects.get(name="runs").permissions.set([permission("view_run")])


def permission(name: str) -> Permission:
    return Permission.objects.get(codename=name)


ENDS = [
    Staff.signs_out,
    Staff.is_deactivated,
    Staff.is_no_staff,
    Staff.has_another_password,
    Staff.is_deleted,
    Staff.is_deactivated_by_another_class,
    Staff.is_deleted_by_another_class,
    Staff.leaves_its_group,
    Staff.is_taken_out_of_the_group,
    Staff.loses_the_group,
    Staff.has_a_group_that_may_less,
]


@pytest.mark.parametrize("let_go", ENDS, ids=lambda end: end.__name__)
def test_a_session_ends_with_what_django_lets_the_person_do(service: Served, let_go: Callable[[Staff], None]) -> None:
    with closing(Staff(service, "eve")) as other, closing(Staff(service)) as ada:
        unused = ada.url()
        let_go(ada)
        ada.is_out()
        assert ada.sign_in(unused) == 401
        assert other.status() == (401 if let_go in (Staff.loses_the_group, Staff.has_a_group_that_may_less) else 200)


def test_a_superuser_who_is_none_any_more_is_no_administrator(service: Served) -> None:
    with closing(Staff(service, is_superuser=True)) as root:
        root.user.user_permissions.add(permission("change_run"))
        assert root.status() == 200
        root.user.is_superuser = False
        root.user.save()
        root.is_out()
        root.sign_in(root.url())  # with less
        assert root.status() == 200
        assert root.http.get("/api/v1/tokens").status_code == 403


def test_what_changes_nothing_ends_nothing(service: Served) -> None:
    with closing(Staff(service)) as ada:
        ada.user.first_name = "Ada"
        ada.user.save()
        ada.user.user_permissions.add(permission("view_run"))
        assert Client().login(username="ada", password="first")  # elsewhere; which notes `last_login`
        with transaction.atomic():
            ada.is_deactivated()
            transaction.set_rollback(True)
        tokens = task_backends["default"].bells.client.store.tokens.list("default")
        assert [one.kind for one in tokens if one.revoked_at is None] == [TokenKind.SESSION]
        with transaction.atomic():
            ada.is_deactivated()
            tokens = task_backends["default"].bells.client.store.tokens.list("default")
            assert [one.kind for one in tokens if one.revoked_at is None] == [TokenKind.SESSION]
        ada.is_out()


@pytest.mark.parametrize("is_superuser", [True, False])
def test_a_session_lasts_an_hour_whatever_nobody_hears_of(service: Served, is_superuser: bool) -> None:
    """A bulk update, or SQL of another program, sends no signal."""
    with closing(Staff(service, is_superuser=is_superuser)):
        tokens = task_backends["default"].bells.client.store.tokens.list(EVERY_TENANT if is_superuser else "default")
        (session,) = [one for one in tokens if one.kind is TokenKind.SESSION]
        assert session.expires_at is not None
        assert (session.expires_at - session.created_at).total_seconds() == pytest.approx(3600, abs=5)


def test_a_transaction_of_ones_own_is_not_disturbed(service: Served) -> None:
    """Without autocommit Django tells nobody of a commit."""
    with closing(Staff(service)) as ada:
        transaction.set_autocommit(False)
        try:
            ada.is_deactivated()
            transaction.rollback()
        finally:
            transaction.set_autocommit(True)
        assert ada.status() == 200


def test_a_session_of_a_printed_address_stands_by_itself(service: Served) -> None:
    from workbell.http.pages.login import login_url

    with closing(Staff(service)) as ada, httpx2.Client(base_url=service.url) as http:
        text = login_url(service.bell, service.url).partition("?token=")[2]
        http.post("/", data={"url_token": text}, headers={"Origin": service.url})
        ada.signs_out()
        ada.is_out()
        assert http.get("/api/v1/runs").status_code == 200


def test_an_end_is_in_the_audit_log(service: Served) -> None:
    with closing(Staff(service)) as ada:
        ada.signs_out()
        ended = task_backends["default"].bells.client.audit.list()[0]
        assert (str(ended.actor), ended.action) == ("app:django", "session.end")
        assert '"ada (Django)"' in str(ended.detail_text)


def test_a_store_that_cannot_be_reached_stops_no_sign_out(shared_site: str) -> None:
    call_command("migrate", verbosity=0)
    client = Client()
    client.force_login(User.objects.create_user("ada", is_staff=True))
    options = {"url": "postgresql://nobody@127.0.0.1:1/nothing?connect_timeout=1"}
    with override_settings(TASKS={"default": {"BACKEND": BACKEND, "QUEUES": [], "OPTIONS": options}}):
        client.logout()
        assert client.get(PAGE).status_code == 302
        User.objects.get().save()
        User.objects.get().delete()

"""The admin page: who sees it, and the sign-in that its button makes."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import Permission, User
from django.core.management import call_command
from django.test import Client, override_settings

from tests.django import tasks
from tests.support.django_site import BACKEND
from workbell.django.compat import task_backends
from workbell.model.access import EVERY_TENANT, TokenKind

PAGE = "/admin/workbell/run/"


@pytest.fixture
def site(memory_site: str) -> None:
    """With the tables of people and sessions."""
    call_command("migrate", verbosity=0)


def signed_in(**what: Any) -> Client:
    user = User.objects.create(username="ada", is_staff=True, **what)
    client = Client()
    client.force_login(user)
    return client


@pytest.mark.usefixtures("site")
def test_it_lists_runs_and_leads_into_the_dashboard() -> None:
    tasks.note.enqueue("<b>")
    options = {"dashboard": "/jobs"}
    with override_settings(TASKS={"default": {"BACKEND": BACKEND, "QUEUES": [], "OPTIONS": options}}):
        client = signed_in(is_superuser=True)
        page = client.get(PAGE)
        assert "tests.django.tasks.note" in page.text
        answer = client.post(PAGE, {"backend": "default"})
        assert answer.status_code == 302
        address, _, token = answer.headers["Location"].partition("/?token=")
        assert address == "http://testserver/jobs"
        bell = task_backends["default"].bells.client
        used = bell.tokens.redeem(token, TokenKind.LOGIN)
        assert used is not None
        assert (used.name, list(used.scopes)) == ("ada (Django)", ["admin"])
        assert bell.tokens.redeem(token, TokenKind.LOGIN) is None
        assert [str(entry.actor) for entry in bell.audit.list()] == ["app:ada"]


@pytest.mark.usefixtures("site")
def test_permissions_become_scopes() -> None:
    client = signed_in()
    assert client.get(PAGE).status_code == 403
    user = User.objects.get()
    user.user_permissions.add(Permission.objects.get(codename="view_run"))
    options = {"dashboard": "https://jobs.example.org"}
    with override_settings(TASKS={"default": {"BACKEND": BACKEND, "QUEUES": [], "OPTIONS": options}}):
        location = client.post(PAGE, {"backend": "default"}).headers["Location"]
        assert location.startswith("https://jobs.example.org/?token=")
        bell = task_backends["default"].bells.client
        used = bell.tokens.redeem(location.partition("token=")[2], TokenKind.LOGIN)
        assert used is not None
        assert (list(used.scopes), used.tenant) == (["read"], "default")


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize("permission", ["view_run", "change_run"])
def test_each_permission_shows_the_list_and_none_a_form(permission: str) -> None:
    client = signed_in()
    assert PAGE not in client.get("/admin/").text
    assert [client.get(f"{PAGE}{page}").status_code for page in ("", f"{uuid4()}/change/")] == [403, 403]
    User.objects.get().user_permissions.add(Permission.objects.get(codename=permission))
    index = client.get("/admin/").text
    assert PAGE in index
    assert "View" in index
    assert "Change</a>" not in index
    assert client.get(PAGE).status_code == 200
    assert client.post(f"{PAGE}{uuid4()}/change/", {}).status_code in (302, 403)


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize(
    ("service", "host", "is_led"),
    [
        ("http://127.0.0.1:8321", "testserver", False),
        ("http://[::1]:8321", "shop.example.org", False),
        ("http://127.0.0.1:8321", "localhost:8000", True),
        ("http://[::1]:8321", "[::1]:8000", True),
        ("http://worker-1:8321", "shop.example.org", True),
    ],
)
def test_a_service_for_this_machine_alone_gets_no_browser_of_another(
    monkeypatch: pytest.MonkeyPatch, service: str, host: str, is_led: bool
) -> None:
    """There the sign-in would go to whatever listens on the browser's own machine."""
    monkeypatch.setattr("workbell.http.binding.running_at", lambda _store: service)
    answer = signed_in(is_superuser=True).post(PAGE, {"backend": "default"}, headers={"host": host})
    tokens = list(task_backends["default"].bells.client.store.tokens.list(EVERY_TENANT))
    assert (answer.status_code == 302, len(tokens) == 1) == (is_led, is_led)
    if not is_led:
        assert "OPTIONS" in answer.text


@pytest.mark.usefixtures("site")
def test_without_a_service_it_says_how_to_get_one() -> None:
    page = signed_in(is_superuser=True).post(PAGE, {"backend": "default"})
    assert page.status_code == 200
    assert "manage.py workbell start" in page.text

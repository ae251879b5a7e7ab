"""System checks: settings that would lose tasks are errors, with a hint."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection, connections
from django.test import override_settings

from tests.support.django_site import BACKEND, database, databases
from workbell.django.checks import check_stores
from workbell.django.compat import task_backends


def found(databases_: dict[str, Any], **options: Any) -> list[tuple[str, str]]:
    with databases(**databases_), override_settings(TASKS={"default": {"BACKEND": BACKEND, "OPTIONS": options}}):
        return [(message.id, f"{message.msg} {message.hint}") for message in task_backends["default"].check()]


MEMORY = {"default": database("sqlite:///:memory:")}


def test_a_site_in_order_has_nothing_to_say() -> None:
    assert found(MEMORY) == []
    assert found(MEMORY, database="default", max_attempts=3, dashboard="/jobs") == []
    assert found(MEMORY, url="memory://") == []
    assert found(MEMORY, database="default", url=None) == []


@pytest.mark.parametrize(
    ("options", "identity", "words"),
    [
        ({"databse": "default"}, "workbell.E002", "Did you mean 'database'?"),
        ({"queue": 1}, "workbell.E002", "The options are database, url, max_attempts, dashboard."),
        ({"max_attempts": 0}, "workbell.E003", "a whole number of 1 or more"),
        ({"database": "default", "url": "memory://"}, "workbell.E004", "Leave one of them out"),
        ({"database": "jobs"}, "workbell.E005", "to one of DATABASES: default"),
    ],
)
def test_a_wrong_option_is_an_error(options: dict[str, Any], identity: str, words: str) -> None:
    ((found_id, text),) = found(MEMORY, **options)
    assert found_id == identity
    assert words in text


def test_other_engines_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with databases(**MEMORY), override_settings(TASKS={"default": {"BACKEND": BACKEND}}):
        monkeypatch.setattr(connections["default"], "vendor", "mysql", raising=False)
        (message,) = task_backends["default"].check()
        assert message.id == "workbell.E006"
        assert "SQLite or PostgreSQL" in message.msg


def test_postgresql_needs_its_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = {"default": database("postgresql://ada@db.example.org:5432/shop")}
    assert found(entries) == []
    monkeypatch.setattr("workbell.django.checks.find_spec", lambda _name: None)
    ((identity, text),) = found(entries)
    assert identity == "workbell.E007"
    assert "workbell[postgres]" in text


def test_a_file_with_deferred_transactions_is_warned_of(tmp_path: Any) -> None:
    entry = database(f"sqlite:///{tmp_path}/shop.db")
    assert [identity for identity, _ in found({"default": entry})] == ["workbell.W001"]
    immediate = database(f"sqlite:///{tmp_path}/shop.db", transaction_mode="IMMEDIATE")
    assert found({"default": immediate}) == []


def test_a_file_that_no_url_can_name_is_an_error(tmp_path: Any) -> None:
    entry = database(f"sqlite:///{tmp_path}/shop?.db", transaction_mode="IMMEDIATE")
    ((identity, text),) = found({"default": entry})
    assert identity == "workbell.E008"
    assert "question mark" in text


def test_a_site_without_the_app_is_told() -> None:
    with override_settings(INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth"]):
        ((identity, text),) = found(MEMORY)
    assert identity == "workbell.E001"
    assert '"workbell.django"' in text


def test_missing_tables_and_checkpoints_are_warned_of(tmp_path: Any) -> None:
    with databases(default=database(f"sqlite:///{tmp_path}/shop.db")):
        assert check_stores(databases=["default"]) == []  # `migrate` has not made them yet: it asks before it begins
        with override_settings(TASKS={"default": {"BACKEND": BACKEND, "OPTIONS": {"url": "memory://"}}}):
            call_command("migrate", "workbell", verbosity=0)
        assert check_stores() == []  # no database was named
        (missing,) = check_stores(databases=["default"])
        assert missing.id == "workbell.W002"
        assert "manage.py migrate" in missing.msg
        call_command("migrate", "workbell", verbosity=0)
        assert check_stores(databases=["default"]) == []
        connection.cursor().execute("PRAGMA wal_autocheckpoint = 1000")
        (checkpoints,) = check_stores(databases=["default"])
        assert checkpoints.id == "workbell.W003"

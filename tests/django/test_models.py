"""The model of a run: a page and permissions, and no rows for commands that copy data."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from django.core.management import call_command
from django.test import override_settings

from tests.django import tasks
from tests.support.django_site import BACKEND, database, databases


def dumped(**options: Any) -> Any:
    text = io.StringIO()
    call_command("dumpdata", stdout=text, verbosity=0, **options)
    return json.loads(text.getvalue())


@pytest.mark.parametrize("every", [False, True])
@pytest.mark.usefixtures("site")
def test_runs_are_not_dumped(every: bool) -> None:
    call_command("migrate", verbosity=0)
    tasks.note.enqueue()
    models = {row["model"] for row in dumped(use_base_manager=every)}
    assert "auth.permission" in models
    assert "workbell.run" not in models


def test_a_dump_needs_no_tables_of_a_store_elsewhere() -> None:
    with (
        databases(default=database("sqlite:///:memory:")),
        override_settings(TASKS={"default": {"BACKEND": BACKEND, "OPTIONS": {"url": "memory://"}}}),
    ):
        call_command("migrate", verbosity=0)
        assert dumped()

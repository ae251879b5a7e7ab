"""Django with the store's database as its own, as a project has it in its settings."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

import django
from django.conf import settings
from django.db import connections

BACKEND = "workbell.django.WorkbellBackend"
APPS = ["django.contrib.contenttypes", "django.contrib.auth", "django.contrib.sessions", "django.contrib.messages"]
APPS += ["django.contrib.admin", "workbell.django", "tests.django"]
if find_spec("django.tasks") is None:
    APPS.append("django_tasks")  # the backport

if not settings.configured:
    settings.configure(
        USE_TZ=True,
        SECRET_KEY="of a test",
        DATABASES={},
        INSTALLED_APPS=APPS,
        DEFAULT_AUTO_FIELD="django.db.models.AutoField",
        ROOT_URLCONF="tests.django.urls",
        TASKS={"default": {"BACKEND": BACKEND, "QUEUES": []}},
        MIDDLEWARE=[
            "django.contrib.sessions.middleware.SessionMiddleware",
            "django.contrib.auth.middleware.AuthenticationMiddleware",
            "django.contrib.messages.middleware.MessageMiddleware",
        ],
        TEMPLATES=[
            {
                "BACKEND": "django.template.backends.django.DjangoTemplates",
                "APP_DIRS": True,
                "OPTIONS": {
                    "context_processors": [
                        "django.template.context_processors.request",
                        "django.contrib.auth.context_processors.auth",
                        "django.contrib.messages.context_processors.messages",
                    ]
                },
            }
        ],
        STATIC_URL="/static/",
        ALLOWED_HOSTS=["*"],
    )
    django.setup()


def database(url: str, **options: Any) -> dict[str, Any]:
    """An entry of DATABASES."""
    if url.startswith("sqlite"):
        return {"ENGINE": "django.db.backends.sqlite3", "NAME": url.removeprefix("sqlite:///"), "OPTIONS": options}
    parts = urlsplit(url)
    place = {"NAME": parts.path[1:], "USER": parts.username, "HOST": parts.hostname, "PORT": parts.port}
    return {"ENGINE": "django.db.backends.postgresql", "OPTIONS": options} | place


def forget() -> None:
    """Close what this thread has open. Each thread has connections of its own."""
    for opened in connections.all(initialized_only=True):
        opened.close()
        del connections[opened.alias]


@contextmanager
def databases(**entries: dict[str, Any]) -> Iterator[None]:
    """These are DATABASES for a while."""
    forget()
    before = connections.settings
    connections.settings = connections.configure_settings(entries)  # type: ignore[misc]
    try:
        yield
    finally:
        forget()
        connections.settings = before  # type: ignore[misc]

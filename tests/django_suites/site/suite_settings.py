"""Settings of the site that the suites run in; the database comes from the environment."""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import urlsplit


def _database(url: str) -> dict[str, Any]:
    if url == "memory":
        return {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}
    parts = urlsplit(url)
    place = {"NAME": parts.path[1:], "USER": parts.username, "HOST": parts.hostname, "PORT": parts.port}
    return {"ENGINE": "django.db.backends.postgresql"} | place


SECRET_KEY = "of a test"
USE_TZ = True
DATABASES = {"default": _database(os.environ["SUITE_DATABASE"])}
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
INSTALLED_APPS = ["django.contrib.contenttypes", "django.contrib.auth", "workbell.django"]
INSTALLED_APPS += os.environ.get("SUITE_APPS", "").split()
TASKS: dict[str, Any] = {
    "default": {"BACKEND": os.environ.get("SUITE_BACKEND", "django.tasks.backends.immediate.ImmediateBackend")}
}
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
SILENCED_SYSTEM_CHECKS = ["admin.E403", "admin.E406", "admin.E408", "admin.E409", "admin.E410"]

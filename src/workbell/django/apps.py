"""Django application `workbell`: finds the tasks of installed apps, and keeps connections to a SQLite store safe."""

from __future__ import annotations

import sys
from types import ModuleType

from django.apps import AppConfig, apps
from django.core.checks import Tags, register
from django.db.backends.signals import connection_created
from django.db.models.signals import post_migrate
from django.utils.module_loading import autodiscover_modules

from workbell.django.checks import check_stores
from workbell.django.connections import prepare_connection
from workbell.django.dashboard import watch_people
from workbell.django.database import LABEL
from workbell.django.migrating import complete_store


class WorkbellConfig(AppConfig):  # type: ignore[misc]
    """The application."""

    name = "workbell.django"
    label = LABEL
    verbose_name = "Workbell"

    def ready(self) -> None:
        connection_created.connect(prepare_connection, dispatch_uid="workbell.prepare_connection")
        post_migrate.connect(complete_store, sender=self, dispatch_uid="workbell.complete_store")
        register(check_stores, Tags.database)
        autodiscover_modules("tasks")
        if apps.is_installed("django.contrib.auth"):
            watch_people()
        for app in apps.get_app_configs():
            _declare_plain(sys.modules.get(f"{app.name}.tasks"))


def _declare_plain(module: ModuleType | None) -> None:
    """Declare tasks of backends that are not ours, which do not do so themselves: for `using(backend=…)`."""
    from workbell.django.bells import declare
    from workbell.django.compat import Task

    for found in [] if module is None else list(vars(module).values()):
        if isinstance(found, Task):
            declare(found)

"""The app of worker processes: `workbell.django.app:default` is the Workbell of the task backend `default`.

`manage.py workbell` names it, so every process that it starts sets Django up by importing this module.
"""

from __future__ import annotations

import django
from django.apps import apps

from workbell.app import Workbell

if not apps.ready:
    django.setup()


def __getattr__(alias: str) -> Workbell:
    from workbell.django.backend import WorkbellBackend
    from workbell.django.compat import task_backends

    if alias.startswith("__") or alias not in task_backends.settings:
        raise AttributeError(f"TASKS has no backend {alias!r}")
    backend = task_backends[alias]
    if not isinstance(backend, WorkbellBackend):
        raise AttributeError(f"TASKS[{alias!r}] is a {type(backend).__name__} and no WorkbellBackend")
    return backend.bell

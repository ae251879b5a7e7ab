"""The app of worker processes: `workbell.django.app:default` is the Workbell of the task backend `default`.

`manage.py workbell` names it, so every process that it starts sets Django up by importing this module.
"""

from __future__ import annotations

import logging

import django
from django.apps import apps
from django.conf import settings

from workbell.app import Workbell
from workbell.logs.handler import OurHandler

TASK_LOGGERS = ("django.tasks", "django_tasks")

if not apps.ready:
    django.setup()


def _log_once() -> None:
    """One stream and one format, where the handler of the root logger is Workbell's.

    The line of a run says what Django's two lines about its task say. And unless the project has logging of its own,
    Django's default prints its lines as text, besides passing them on.
    """
    ours = [handler for handler in logging.getLogger().handlers if isinstance(handler, OurHandler)]
    for handler in ours:
        handler.addFilter(_is_not_about_a_task)
    if ours and not settings.LOGGING:
        django_log = logging.getLogger("django")
        for printing in [one for one in django_log.handlers if type(one) is logging.StreamHandler]:
            django_log.removeHandler(printing)


def _is_not_about_a_task(record: logging.LogRecord) -> bool:
    return record.name not in TASK_LOGGERS or not str(record.msg).startswith("Task id=")


_log_once()


def __getattr__(alias: str) -> Workbell:
    from workbell.django.backend import WorkbellBackend
    from workbell.django.compat import task_backends

    if alias.startswith("__") or alias not in task_backends.settings:
        raise AttributeError(f"TASKS has no backend {alias!r}")
    backend = task_backends[alias]
    if not isinstance(backend, WorkbellBackend):
        raise AttributeError(f"TASKS[{alias!r}] is a {type(backend).__name__} and no WorkbellBackend")
    return backend.bell

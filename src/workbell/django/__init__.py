"""Django: a task backend (`WorkbellBackend`), its application for INSTALLED_APPS, and the command `manage.py workbell`.

INSTALLED_APPS = [..., "workbell.django"]
TASKS = {"default": {"BACKEND": "workbell.django.WorkbellBackend"}}
"""

from workbell.django.backend import WorkbellBackend
from workbell.django.errors import TaskCanceled, TaskGivenUp
from workbell.django.task import WorkbellTask, task

__all__ = ["TaskCanceled", "TaskGivenUp", "WorkbellBackend", "WorkbellTask", "task"]

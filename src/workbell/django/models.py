"""Model of a run, without a table of its own: it gives the admin site a page and its permissions."""

from __future__ import annotations

from typing import Any

from django.db import models


class NoRows(models.Manager):  # type: ignore[misc]
    """Manager without rows: `dumpdata` must not copy runs, whose ids alone `loaddata` could not make runs of."""

    def get_queryset(self) -> Any:
        return super().get_queryset().none()


class Run(models.Model):  # type: ignore[misc]
    """One execution of a task. Rows are read and written by Workbell alone."""

    id = models.UUIDField(primary_key=True)

    objects = NoRows()

    class Meta:
        managed = False
        db_table = "workbell_runs"
        default_permissions = ("view", "change")
        verbose_name = "task run"
        base_manager_name = "objects"  # of `dumpdata --all`

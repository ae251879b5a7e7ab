"""Tables of Workbell, version 1 of the store's schema."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db import migrations, models

from workbell.django.migrating import MigrateStore


class Migration(migrations.Migration):  # type: ignore[misc]
    initial = True
    dependencies: ClassVar[list[Any]] = []
    operations: ClassVar[list[Any]] = [
        MigrateStore(version=1),
        migrations.CreateModel(
            name="Run",
            fields=[("id", models.UUIDField(primary_key=True, serialize=False))],
            options={
                "verbose_name": "task run",
                "db_table": "workbell_runs",
                "managed": False,
                "base_manager_name": "objects",
                "default_permissions": ("view", "change"),
            },
        ),
    ]

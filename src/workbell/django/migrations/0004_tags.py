"""Tables of Workbell, up to version 13 of the store's schema."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db import migrations

from workbell.django.migrating import MigrateStore


class Migration(migrations.Migration):  # type: ignore[misc]
    dependencies: ClassVar[list[Any]] = [("workbell", "0003_rewinds")]
    operations: ClassVar[list[Any]] = [MigrateStore(version=13)]

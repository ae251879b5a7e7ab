"""Entries of the audit log."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import Field

from workbell.http.schemas.base import AT, RUN_ID, Shown


class AuditShown(Shown):
    """An action of an operator: on what, when and from where."""

    id: str = Field(examples=[RUN_ID])
    tenant: str
    at: datetime = Field(examples=[AT])
    actor: str = Field(description="Kind and name; the kind is not the caller's to choose.", examples=["token:grafana"])
    action: str = Field(examples=["runs.cancel"])
    subject: str = Field(examples=[RUN_ID])
    detail: Any = Field(
        description="More about it; `by` has the ids of the actor.",
        examples=[{"method": "POST", "by": {"kind": "token", "token": RUN_ID}}],
    )
    address: str | None = Field(examples=["127.0.0.1"])

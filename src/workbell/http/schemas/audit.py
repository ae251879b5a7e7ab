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
    actor: str = Field(examples=["grafana"])
    action: str = Field(examples=["runs.cancel"])
    subject: str = Field(examples=[RUN_ID])
    detail: Any = Field(examples=[{"method": "POST"}])
    address: str | None = Field(examples=["127.0.0.1"])

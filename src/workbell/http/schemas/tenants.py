"""Tenants, and what can be set for one."""

from __future__ import annotations

from datetime import datetime

from pydantic import ConfigDict, Field

from workbell.http.schemas.base import AT, RequestBody, Shown
from workbell.model.limit import MOST_RUNNING
from workbell.model.tenant import WEIGHTS


class TenantShown(Shown):
    """A tenant. Where several have runs waiting, each gets starts in proportion to its weight."""

    name: str = Field(examples=["acme"])
    description: str
    weight: int = Field(examples=[1])
    concurrency: int | None = Field(description="How many of its runs may be running at once.", examples=[10])
    rate: str | None = Field(description="How many may start.", examples=["100/m"])
    created_at: datetime | None = Field(description="Null where nothing was set.", examples=[AT])
    updated_at: datetime | None


class TenantBody(RequestBody):
    """Settings of a tenant; those that are left out stay, and null removes a limit."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"weight": 3, "concurrency": 10, "rate": "100/m"}]}
    )

    weight: int = Field(1, ge=WEIGHTS[0], le=WEIGHTS[-1])
    concurrency: int | None = Field(None, ge=1, le=MOST_RUNNING)
    rate: str | None = Field(None, min_length=3, max_length=30)
    description: str = Field("", max_length=1000)

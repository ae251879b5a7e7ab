"""Findings of the doctor."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from workbell.http.schemas.base import AT, Shown


class FindingShown(Shown):
    """One finding of a check. There may be several of one name, such as endpoints that fail."""

    name: str = Field(examples=["schedules"])
    state: Literal["ok", "warning", "problem"]
    says: str = Field(examples=["a schedule has been due for 5 min, and no scheduler takes it"])
    remedy: str | None = Field(description="What to do.", examples=["start one (`workbell start`)."])


class Findings(Shown):
    items: list[FindingShown]
    at: datetime = Field(examples=[AT])

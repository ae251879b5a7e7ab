"""What the doctor found."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from workbell.http.schemas.base import AT, Shown


class FindingShown(Shown):
    """One thing that was looked at. There may be several of one name, such as endpoints that fail."""

    name: str = Field(examples=["schedules"])
    state: Literal["ok", "warning", "problem"]
    says: str = Field(examples=["a schedule has been due for 5 min, and no scheduler looks"])
    remedy: str | None = Field(description="What to do.", examples=["start one (`workbell start`)."])


class Findings(Shown):
    items: list[FindingShown]
    at: datetime = Field(examples=[AT])

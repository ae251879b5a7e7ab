"""Parses the run filter of a query string to the options of `bell.runs`."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field
from starlette.requests import Request

from workbell.http.schemas.base import Name, User, When
from workbell.model.payload_fields import value_from
from workbell.model.run import Status

FIELD = "input."


class RunFilter(BaseModel):
    """Which runs. Fields of the payload are asked for as `input.customer.id=42`, by a JSON value or a plain text."""

    status: list[Status] = Field(default_factory=list, description="One or more statuses.")
    job: Name | None = None
    queue: Name | None = None
    tag: Name | None = None
    schedule: Name | None = Field(None, description="The name or id of a schedule.")
    user_id: User | None = None
    target: Name | None = None
    event: str | None = Field(None, max_length=40)
    retry_of: str | None = Field(None, max_length=40, description="Made by a retry of the run with this id.")
    retried: bool | None = Field(None, description="Whether a run was made by a retry of it.")
    since: When | None = Field(None, description="Made at this time or later.")
    until: When | None = Field(None, description="Made before this time.")


def run_filter(request: Request, wanted: RunFilter) -> dict[str, Any]:
    """Filter options of `bell.runs` from the query."""
    found: dict[str, Any] = {
        name: value for name in RunFilter.model_fields if (value := getattr(wanted, name)) not in (None, [])
    }
    fields = {
        name.removeprefix(FIELD): value_from(text)
        for name, text in request.query_params.multi_items()
        if name.startswith(FIELD) and len(name) > len(FIELD)
    }
    if fields:
        found["input"] = fields
    return found

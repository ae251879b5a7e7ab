"""Stored files: what is known about each."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from workbell.http.schemas.base import AT, RUN_ID, Shown


class FileShown(Shown):
    """A file that jobs, or somebody over HTTP, have put there."""

    id: str = Field(examples=[RUN_ID])
    filename: str = Field(examples=["report.csv"])
    content_type: str = Field(examples=["text/csv"])
    size: int = Field(description="Bytes.")
    created_at: datetime = Field(examples=[AT])

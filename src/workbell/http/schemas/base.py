"""Base class of all schemas, and field types that many of them use."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Any, Generic, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from workbell.model.payload import find_not_finite

Item = TypeVar("Item")

RUN_ID = "0198c2f3-5a6b-7c8d-9e0f-1a2b3c4d5e6f"
AT = "2026-11-16T09:00:00Z"


class Shown(BaseModel):
    """Base of answers."""


class RequestBody(BaseModel):
    """Base of request bodies: unknown fields are refused, not ignored."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class AgentBody(BaseModel):
    """Body of an agent's request; unknown fields are ignored, because the agent may be newer."""

    model_config = ConfigDict(extra="ignore")


class ListPage(BaseModel, Generic[Item]):
    """A page of a list; `next` is the cursor of the next page, none on the last one."""

    items: list[Item]
    next: str | None = None


def _no_number(value: Any) -> Any:
    """A bare number would be taken for seconds since 1970, also `2026`, which is meant as a year."""
    if isinstance(value, int | float) or (isinstance(value, str) and _NUMBER.fullmatch(value.strip())):
        raise ValueError("write a time as RFC 3339 does, such as 2026-11-16T09:00:00Z")
    return value


def _finite(value: Any) -> Any:
    """The parser takes NaN, Infinity and 1e400 for numbers; JSON has none of them, and they would be stored as null."""
    found = find_not_finite(value)
    if found is not None:
        raise ValueError(f"{found[0] or 'the value'} is {found[1]}, which JSON cannot carry")
    return value


_NUMBER = re.compile(r"[-+]?\d*\.?\d+")
When = Annotated[datetime, BeforeValidator(_no_number)]
Name = Annotated[str, Field(min_length=1, max_length=200)]
User = Annotated[int, Field(strict=True, ge=0, lt=2**63)] | Name  # a user's id: a number or a text
Limit = Annotated[int, Field(ge=1, le=1000)]
Seconds = Annotated[float, Field(ge=0, le=10_000_000_000)]
Json = Annotated[Any, AfterValidator(_finite)]

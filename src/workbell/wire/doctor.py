"""Findings of the doctor."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from workbell.model.access import Scope
from workbell.wire.fields import Time
from workbell.wire.operation import Operations, Shown

State = Literal["ok", "warning", "problem"]


class FindingShown(Shown, frozen=True, kw_only=True):
    """One finding of a check. There may be several of one name, such as endpoints that fail."""

    name: Annotated[str, Meta(examples=["schedules"])]
    state: State
    says: Annotated[str, Meta(examples=["a schedule has been due for 5 min, and no scheduler takes it"])]
    remedy: Annotated[str | None, Meta(description="What to do.", examples=["start one (`workbell start`)."])]


class Findings(Shown, frozen=True, kw_only=True):
    """All findings, and when the store was checked."""

    items: list[FindingShown]
    complete: Annotated[
        bool,
        Meta(description="False if a check is still going on. Ask again in a few seconds for its result."),
    ]
    at: Time


operations = Operations("doctor")

examine = operations.add(
    "examine",
    "GET",
    "/doctor",
    Scope.READ,
    Findings,
    """Check the store: what is fine, what to note and what is a problem, as `workbell doctor` does.

Only with a token of all tenants: it checks the whole store. A check that takes too long goes on, and
the next answer has its result.""",
)

"""Problem document of every error (RFC 9457)."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from workbell.wire.operation import Shown

PROBLEM_JSON = "application/problem+json"
TYPE = "urn:workbell:error:"


class FieldProblem(Shown, frozen=True, kw_only=True):
    """One field of a request that is wrong, and why."""

    where: Annotated[str, Meta(examples=["body.job"])]
    what: Annotated[str, Meta(examples=["the field is missing"])]


class Problem(Shown, frozen=True, kw_only=True, omit_defaults=True):
    """An error: `type` names its kind, `detail` says what is wrong and what helps."""

    type: Annotated[str, Meta(examples=["urn:workbell:error:RunNotFound"])]
    title: Annotated[str, Meta(examples=["No run with this id belongs to the tenant."])]
    status: Annotated[int, Meta(examples=[404])]
    detail: Annotated[str, Meta(examples=["There is no run 'x' of tenant default; it may have been removed."])]
    errors: list[FieldProblem] | None = None
    run_id: str | None = None

    @property
    def name(self) -> str:
        """The name of the error's class."""
        return self.type.removeprefix(TYPE)

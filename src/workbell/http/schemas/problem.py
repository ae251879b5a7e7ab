"""Problem document of every error (RFC 9457)."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class FieldProblem(BaseModel):
    where: str = Field(examples=["body.job"])
    what: str = Field(examples=["Field required"])


class Problem(BaseModel):
    """An error: `type` names its kind, `detail` says what is wrong and what helps."""

    model_config = ConfigDict(title="Problem")

    type: str = Field(examples=["urn:workbell:error:RunNotFound"])
    title: str = Field(examples=["No run with this id belongs to the tenant."])
    status: int = Field(examples=[404])
    detail: str = Field(examples=["There is no run 'x' of tenant default; it may have been removed."])
    errors: list[FieldProblem] | None = None
    run_id: str | None = None

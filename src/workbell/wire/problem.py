"""Problem document of every error (RFC 9457), and the status of each class of error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta

from workbell import errors
from workbell.wire.operation import Shown

PROBLEM_JSON = "application/problem+json"
TYPE = "urn:workbell:error:"

STATUS: Mapping[type[errors.WorkbellError], int] = {
    errors.Unauthorized: 401,
    errors.Forbidden: 403,
    errors.NotFound: 404,
    errors.RunNotFound: 404,
    errors.ScheduleNotFound: 404,
    errors.TriggerNotFound: 404,
    errors.EventNotFound: 404,
    errors.EndpointNotFound: 404,
    errors.StoredFileNotFound: 404,
    errors.DuplicateRun: 409,
    errors.TriggerExists: 409,
    errors.RunNotFinished: 409,
    errors.LeaseLost: 409,
    errors.KeyReused: 409,
    errors.PreconditionFailed: 412,
    errors.TooLarge: 413,
    errors.TooMany: 429,
    errors.MissingPackage: 501,
    errors.StoreError: 503,  # the caller has done nothing wrong, and may ask again
    errors.DatabaseUnavailable: 503,
    errors.ServiceUnavailable: 503,
    errors.QueueUnavailable: 503,
    errors.SecretSealed: 503,
    errors.UnknownJob: 422,
    errors.JobsError: 422,
    errors.InvalidInput: 422,
    errors.InvalidOption: 422,
    errors.InvalidEvent: 422,
    errors.UnknownMessage: 422,
    errors.EndpointRefused: 422,
    errors.WorkbellError: 400,
}

BY_STATUS: Mapping[int, type[errors.WorkbellError]] = {
    401: errors.Unauthorized,
    403: errors.Forbidden,
    404: errors.NotFound,
    413: errors.TooLarge,
    429: errors.TooMany,
    503: errors.ServiceUnavailable,
}
"""Class whose name a status has, where only the status is known."""


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

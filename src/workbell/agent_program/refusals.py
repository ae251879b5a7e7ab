"""Refusals of the server that an agent believes, by name and status of the problem. Every other answer means: later."""

from __future__ import annotations

from workbell.errors import (
    AgentExists,
    AgentNotFound,
    Forbidden,
    LeaseLost,
    RunNotFound,
    ServiceUnavailable,
    TooMany,
    Unauthorized,
    WorkbellError,
)
from workbell.remote.problems import ServiceProblem


class Refused(WorkbellError):
    """The server refuses the request for good: sending it again cannot help."""


REFUSALS: dict[str, type[WorkbellError]] = {
    kind.__name__: kind
    for kind in (Unauthorized, Forbidden, AgentNotFound, AgentExists, RunNotFound, LeaseLost, TooMany)
} | dict.fromkeys(("InvalidRequest", "InvalidOption", "InvalidInput", "TooLarge"), Refused)
FINAL = (400, 413, 422)  # statuses of a request that does not fit, and will not fit later
TOO_MANY = 429


def refusal_class(problem: ServiceProblem, status: int) -> type[WorkbellError]:
    """The exception for a problem and its status.

    Not final, so that the request is sent again later: status 429 and 5xx whatever the name, since an application's
    `auth` hook may name them differently; and a name that is not listed, such as a newer server's.
    """
    if status == TOO_MANY:
        return TooMany
    kind = REFUSALS.get(problem.name, ServiceUnavailable)
    return ServiceUnavailable if status >= 500 or (kind is Refused and status not in FINAL) else kind

"""Refusals of the server that an agent believes, by the name of the problem. Every other answer means: later."""

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
} | dict.fromkeys(("InvalidRequest", "InvalidOption", "InvalidPayload", "TooLarge"), Refused)


def refusal_class(problem: ServiceProblem, _status: int) -> type[WorkbellError]:
    """The exception for a problem. One that is not listed, such as a newer server's, is not final: try again later."""
    return REFUSALS.get(problem.name, ServiceUnavailable)

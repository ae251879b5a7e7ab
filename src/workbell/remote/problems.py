"""Error answers: problem documents of the service, read and raised. Whatever else answers is `ServiceUnavailable`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias, TypeVar

import msgspec

from workbell import errors
from workbell.errors import (
    DuplicateRun,
    InvalidOption,
    ServiceUnavailable,
    WorkbellError,
)
from workbell.model.json_text import clean_text
from workbell.remote.call import RemoteCall, Reply
from workbell.wire.problem import BY_STATUS, PROBLEM_JSON, TYPE

PAGE = "text/html"
OTHERS: Mapping[int, type[WorkbellError]] = {
    400: InvalidOption,
    422: InvalidOption,
    502: ServiceUnavailable,
    504: ServiceUnavailable,
}
"""Classes for statuses of problems whose class this version does not know, and of proxies."""


T = TypeVar("T")


class ServiceProblem(msgspec.Struct, frozen=True):
    """Body of an error answer."""

    type: str = ""
    title: str = ""
    detail: str = ""
    run_id: str | None = None

    @property
    def name(self) -> str:
        """The name of the error's class."""
        return self.type.removeprefix(TYPE)


def problem_of(content_type: str, content: bytes) -> ServiceProblem | None:
    """The problem in an answer of the service; none, if something else has answered.

    Proxies, login pages and other programs answer with any status. Only our own type says that this is not theirs.
    """
    if _media_type(content_type) != PROBLEM_JSON:
        return None
    try:
        problem = msgspec.json.decode(content, type=ServiceProblem)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return problem if problem.type.startswith(TYPE) else None


ErrorClass: TypeAlias = Callable[[ServiceProblem, int], type[WorkbellError]]
"""Chooses the exception for a problem and the status that it came with."""


def same_class(problem: ServiceProblem, status: int) -> type[WorkbellError]:
    """The class that the service raised; by the status, if this version does not know it."""
    return _kind(problem.name) or BY_STATUS.get(status) or OTHERS.get(status, WorkbellError)


def error_of(reply: Reply, shown: str, choose: ErrorClass = same_class) -> WorkbellError:
    """The exception for an error answer."""
    problem = problem_of(reply.content_type, reply.content)
    if problem is None:
        return stranger(reply, shown)
    kind = choose(problem, reply.status)
    message = clean_text(
        problem.detail or problem.title or f"{shown}: the service answered with status {reply.status}."
    )
    return DuplicateRun(message, problem.run_id or "") if kind is DuplicateRun else kind(message)


def read(call: RemoteCall[T], reply: Reply, shown: str, choose: ErrorClass = same_class) -> T:
    """The value of an answer; raises the error that it is otherwise."""
    if not 200 <= reply.status < 300:
        raise error_of(reply, shown, choose)
    if _media_type(reply.content_type) == PAGE:
        raise stranger(reply, shown)
    try:
        return call.read(reply.content)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ServiceUnavailable(
            f"{shown}: {call.method} {call.path} was answered with what this version cannot read "
            f"({clean_text(str(error), 200)}); is it a Workbell, and of the same version?"
        ) from None


def stranger(reply: Reply, shown: str) -> ServiceUnavailable:
    """Something answered that is not the service: a proxy, a login page, another program."""
    what = _media_type(reply.content_type) or "nothing"
    if 300 <= reply.status < 400:
        return ServiceUnavailable(
            f"{shown}: the answer was a redirect (status {reply.status}); give the URL at which the service itself is."
        )
    return ServiceUnavailable(
        f"{shown}: status {reply.status} came with {what:.60}, which is no answer of Workbell; check the URL, "
        "and what stands in between."
    )


def _media_type(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


def _kind(name: str) -> type[WorkbellError] | None:
    found = getattr(errors, name, None) if name.isidentifier() else None
    return found if isinstance(found, type) and issubclass(found, WorkbellError) else None

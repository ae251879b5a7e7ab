"""Operations of the API: each is one method at one path, with its scope, query, body, answer and verb."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from workbell.model.access import Scope

Answer = TypeVar("Answer")
Item = TypeVar("Item")

PREFIX = "/api/v1"
PARAMETER = re.compile(r"{(\w+)}")


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """Base of answers. A client ignores fields that it does not know: the server may be newer."""


class RequestBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of request bodies: unknown fields are refused, not ignored."""


class AgentBody(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Base of bodies that agents send; unknown fields are ignored, because the agent may be newer."""


class Query(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of query strings; a list is a parameter that may be repeated."""


class ListPage(Shown, Generic[Item], frozen=True, kw_only=True):
    """A page of a list; `next` is the cursor of the next page, none on the last one."""

    items: list[Item]
    next: str | None = None


class Items(Shown, Generic[Item], frozen=True, kw_only=True):
    """A whole list."""

    items: list[Item]


class Header(NamedTuple):
    """A request header that an operation knows."""

    name: str
    text: str
    schema: Mapping[str, Any]


IDEMPOTENCY_KEY = Header(
    "Idempotency-Key",
    "The same key within 24 hours gets the same answer, and makes nothing twice.",
    {"type": "string", "minLength": 1, "maxLength": 180, "pattern": "^[!-~]+$"},
)
IF_MATCH = Header(
    "If-Match", "Only if it still has this ETag.", {"type": "string", "maxLength": 200, "pattern": "^[!-~ ]*$"}
)


class Content(NamedTuple):
    """A body or an answer that is not JSON of a struct."""

    media_type: str
    schema: Mapping[str, Any] = {}
    text: str = ""


class Operation(msgspec.Struct, Generic[Answer], frozen=True, kw_only=True, eq=False):
    """One operation. Its name is the resource and the verb, as in the audit log: `runs.cancel`."""

    name: str
    method: str
    path: str  # below /api/v1
    scope: Scope | None  # none: any valid token
    text: str  # the first line is the summary
    answer: type[Answer]
    verb: str = ""  # of the client; empty: the same as the name
    status: int = 200
    query: type[Query] | None = None
    body: type[msgspec.Struct] | None = None
    body_required: bool = True  # without one, the body has its defaults
    shown: type[Shown] | None = None  # the thing as GET shows it: such a body is taken back
    other_bodies: Mapping[str, type[msgspec.Struct]] = {}  # by further media types
    content: Content | None = None  # a body that the operation reads by itself
    answers_with: Content | None = None  # an answer that is not JSON
    examples: Sequence[Any] = ()  # of bodies
    headers: tuple[Header, ...] = ()
    versioned: bool = False  # GET answers with an ETag; all others take it in If-Match
    creates: bool = False  # the answer of an Idempotency-Key is stored; else the operation honours it by itself
    open: bool = False  # no token at all
    input_fields: bool = False  # the query may have `input.…=`: fields of a run's input

    @property
    def resource(self) -> str:
        return self.name.partition(".")[0]

    @property
    def parameters(self) -> list[str]:
        """The names in its path."""
        return PARAMETER.findall(self.path)

    @property
    def read_only(self) -> frozenset[str]:
        """The fields that the thing is shown with, and that the body cannot set: they may stand in it as well."""
        if self.shown is None or self.body is None:
            return frozenset()
        return frozenset(self.shown.__struct_fields__) - {*self.body.__struct_fields__}

    @property
    def is_audited(self) -> bool:
        return self.scope in (Scope.OPERATE, Scope.ADMIN) and self.method != "GET"

    @property
    def all_headers(self) -> tuple[Header, ...]:
        more = (IF_MATCH,) if self.takes_condition else ()
        return (*self.headers, *more, IDEMPOTENCY_KEY) if self.creates else (*self.headers, *more)

    @property
    def takes_condition(self) -> bool:
        """Whether it compares `If-Match` with the thing that it changes."""
        return self.versioned and self.method != "GET"


class Operations:
    """The operations of one resource, in the order in which they are declared."""

    def __init__(self, resource: str) -> None:
        self.resource = resource
        self._declared: list[Operation[Any]] = []

    def __iter__(self) -> Iterator[Operation[Any]]:
        return iter(self._declared)

    def add(
        self, name: str, method: str, path: str, scope: Scope | None, answer: type[Answer], text: str, **more: Any
    ) -> Operation[Answer]:
        """Declare an operation; `more` are fields of `Operation`."""
        made = Operation[Answer](
            name=f"{self.resource}.{name}",
            method=method,
            path=path,
            scope=scope,
            answer=answer,
            text=text,
            **more,
        )
        self._declared.append(made)
        return made

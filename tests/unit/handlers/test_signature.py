"""A handler's parameters as the type of its input."""

from __future__ import annotations

import dataclasses
import enum
from datetime import UTC, datetime
from typing import Any, Literal
from uuid import UUID

import pytest

from workbell.errors import InvalidInput, JobsError
from workbell.handlers.context import Context
from workbell.handlers.signature import Signature


class Colour(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Point:
    x: int
    y: list[str] = dataclasses.field(default_factory=list)


class Model:
    """What a Pydantic model looks like from here."""

    def __init__(self, name: str) -> None:
        self.name = name

    def model_dump(self, mode: str) -> dict[str, str]:
        return {"name": self.name}

    @classmethod
    def model_validate(cls, value: Any) -> Model:
        if not isinstance(value, dict) or "name" not in value:
            raise ValueError("a name is needed")
        return cls(value["name"])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Model) and other.name == self.name


def send(ctx: Context, to: str, times: int = 1) -> None: ...


def typed(
    point: Point,
    colour: Colour = Colour.RED,
    at: datetime | None = None,
    ident: UUID | None = None,
    kind: Literal["a", "b"] = "a",
    numbers: list[int] | None = None,
    model: Model | None = None,
    anything=None,  # type: ignore[no-untyped-def]
) -> None: ...


def open_ended(to: str, **rest: Any) -> None: ...


def by_name(to: str, *, copies: int = 1) -> None: ...


def nothing() -> None: ...


def signature(function: Any) -> Signature:
    return Signature("send", function)


def test_the_context_is_not_an_argument() -> None:
    def unannotated(ctx, to):  # type: ignore[no-untyped-def]
        ...

    def named_otherwise(context: Context, to: str) -> None: ...

    def no_context(ctx: str) -> None: ...

    assert signature(send).wants_context
    assert signature(unannotated).wants_context
    assert signature(named_otherwise).wants_context
    assert not signature(no_context).wants_context
    assert not signature(nothing).wants_context
    assert signature(no_context).bind(("x",), {}) == {"ctx": "x"}


@pytest.mark.parametrize(("args", "kwargs"), [(("a", 2), {}), (("a",), {"times": 2}), ((), {"to": "a", "times": 2})])
def test_arguments_are_bound_by_position_or_name(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    assert signature(send).bind(args, kwargs) == {"to": "a", "times": 2}


def test_what_is_not_given_is_left_to_the_function() -> None:
    """The default is that of the code that runs, not that of the code that enqueued."""
    found = signature(send)
    assert found.decode(found.encode({"to": "a"})) == {"to": "a"}
    assert signature(nothing).decode(None) == {}
    assert signature(nothing).decode("{}") == {}


def test_arguments_come_back_in_their_own_types() -> None:
    given = {
        "point": Point(1, ["a"]),
        "colour": Colour.RED,
        "at": datetime(2030, 1, 1, tzinfo=UTC),
        "ident": UUID(int=7),
        "kind": "b",
        "numbers": [1, 2],
        "model": Model("Ada"),
        "anything": {"deep": [1, None]},
    }
    found = signature(typed)
    assert found.decode(found.encode(given)) == given
    nones = {"point": Point(1), "at": None, "ident": None, "numbers": None, "model": None}
    assert found.decode(found.encode(nones)) == nones


def test_further_keywords_are_passed_on_where_the_function_takes_them() -> None:
    found = signature(open_ended)
    assert found.decode(found.encode({"to": "a", "cc": ["b"], "n": 1})) == {"to": "a", "cc": ["b"], "n": 1}


def a_task(args: list[Any] | None = None, kwargs: dict[str, Any] | None = None) -> None: ...


@pytest.mark.parametrize(
    ("function", "input", "says"),
    [
        (send, {}, "the argument 'to' is missing; the arguments are to, times"),
        (send, {"too": "a"}, "there is no argument 'too'; the arguments are to, times"),
        (nothing, {"x": 1}, "there is no argument 'x'; it takes none"),
        (
            a_task,
            {"order": 1},
            """there is no argument 'order'; the arguments are args, kwargs: {"args": […], "kwargs": {…}}""",
        ),
        (send, {"to": 5}, "the argument 'to': expected str, got int"),
        (send, {"to": None}, "the argument 'to': expected str, got null"),
        (send, {"to": "a", "times": "2"}, "the argument 'times': expected int, got str"),
        (send, {"to": "a", "times": 1.5}, "the argument 'times': expected int, got float"),
        (send, {"to": "a", "times": True}, "the argument 'times': expected int, got bool"),
        (typed, {"point": {}}, "the argument 'point' lacks the field 'x'"),
        (typed, {"point": {"x": "1"}}, "the argument 'point.x': expected int, got str"),
        (typed, {"point": {"x": 1, "y": ["a", 2]}}, "the argument 'point.y[1]': expected str, got int"),
        (typed, {"point": Point(1), "colour": "blue"}, "the argument 'colour': invalid enum value 'blue'"),
        (typed, {"point": Point(1), "kind": "c"}, "the argument 'kind': invalid enum value 'c'"),
        (typed, {"point": Point(1), "at": "noon"}, "the argument 'at': invalid RFC3339 encoded datetime"),
        (typed, {"point": Point(1), "ident": "7"}, "the argument 'ident': invalid UUID"),
        (typed, {"point": Point(1), "model": {}}, "the argument 'model': a name is needed"),
        (open_ended, {"cc": 1}, "the argument 'to' is missing; the arguments are to"),
        (send, {"to": object()}, "the input cannot be written as JSON: object cannot be written as JSON"),
    ],
    ids=lambda value: getattr(value, "__name__", "input" if isinstance(value, dict) else value),
)
def test_an_input_that_does_not_fit_is_refused_in_one_sentence(function: Any, input: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        signature(function).encode(input)
    assert str(refused.value) == f"job send: {says}."


@dataclasses.dataclass
class Letter:
    text: str
    seal: bytes = b""
    tags: dict[str, str] = dataclasses.field(default_factory=dict)


def written(
    text: str = "",
    seal: bytes = b"",
    lines: list[str] | None = None,
    letter: Letter | None = None,
    both: tuple[Model, str] | None = None,
    counts: dict[int, str] | None = None,
    anything: Any = None,
    **rest: Any,
) -> None: ...


DECODE = "decode them first, as in value.decode()"


@pytest.mark.parametrize(
    ("input", "says"),
    [
        ({"text": b"x"}, f"the argument 'text': expected str, got bytes; {DECODE}"),
        ({"text": bytearray(b"x")}, f"the argument 'text': expected str, got bytes; {DECODE}"),
        ({"text": memoryview(b"x")}, f"the argument 'text': expected str, got bytes; {DECODE}"),
        ({"lines": ["a", b"x"]}, f"the argument 'lines[1]': expected str, got bytes; {DECODE}"),
        ({"letter": Letter(b"x")}, f"the argument 'letter.text': expected str, got bytes; {DECODE}"),  # type: ignore[arg-type]
        (
            {"letter": Letter("x", tags={"a": b"x"})},
            f"the argument 'letter.tags[...]': expected str, got bytes; {DECODE}",
        ),  # type: ignore[dict-item]
        ({"both": (Model("Ada"), b"x")}, f"the argument 'both[1]': expected str, got bytes; {DECODE}"),
        ({"counts": {1: b"x"}}, f"the argument 'counts[...]': expected str, got bytes; {DECODE}"),
        ({"seal": "eA==", "text": b"x"}, f"the argument 'text': expected str, got bytes; {DECODE}"),
        (
            {"letter": {"text": "x", "tags": {b"a": "x"}}},
            "the argument 'letter': a dict in it has a key that is neither a text nor a number; convert its keys",
        ),
    ],
)
def test_bytes_are_no_text(input: dict[str, Any], says: str) -> None:
    """JSON carries them as base64, and the handler would get that."""
    with pytest.raises(InvalidInput) as refused:
        signature(written).encode(input)
    assert str(refused.value) == f"job send: {says}."


def test_bytes_where_they_are_meant() -> None:
    given = {"seal": b"x", "letter": Letter("x", b"y"), "both": (Model("Ada"), "x"), "counts": {1: "x"}}
    found = signature(written)
    assert found.decode(found.encode(given)) == given
    assert found.decode(found.encode({"seal": bytearray(b"x")})) == {"seal": b"x"}
    assert found.decode(found.encode({"anything": [b"x"], "more": b"x"})) == {"anything": ["eA=="], "more": "eA=="}
    assert found.decode(found.encode({"seal": "eA==", "anything": {1: 2**80}})) == {
        "seal": b"x",
        "anything": {"1": 2**80},
    }


def test_a_stored_input_is_checked_again_when_it_is_run() -> None:
    """The code may have changed since."""
    with pytest.raises(InvalidInput, match="the argument 'to' is missing"):
        signature(send).decode(None)
    with pytest.raises(InvalidInput, match="there is no argument 'old'"):
        signature(send).decode('{"to":"a","old":1}')
    with pytest.raises(InvalidInput, match="JSON"):
        signature(send).decode("not json")


@pytest.mark.parametrize(
    ("args", "kwargs", "says"),
    [
        (("a", 2, 3), {}, "job send takes 2 arguments by position, and 3 were given."),
        (("a",), {"to": "b"}, "job send: the argument 'to' was given twice."),
    ],
)
def test_a_call_that_cannot_be_bound(args: tuple[Any, ...], kwargs: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        signature(send).bind(args, kwargs)
    assert str(refused.value) == says


def test_a_keyword_only_argument_is_not_filled_by_position() -> None:
    with pytest.raises(InvalidInput, match="takes 1 arguments by position"):
        signature(by_name).bind(("a", 2), {})
    assert signature(by_name).bind(("a",), {"copies": 2}) == {"to": "a", "copies": 2}


def test_parameters_that_cannot_be_given_by_name_are_refused() -> None:
    def position_only(to: str, /) -> None: ...

    def many(*to: str) -> None: ...

    for function, name in ((position_only, "to"), (many, "to")):
        with pytest.raises(JobsError, match=f"job send: the parameter '{name}' cannot be given by name"):
            signature(function)


def test_types_that_cannot_be_read_are_refused_when_the_job_is_declared() -> None:
    def unknown(x: NotThere) -> None: ...  # type: ignore[name-defined]  # noqa: F821

    def unusable(x: Point | dict[str, int]) -> None: ...

    with pytest.raises(JobsError, match="job send: its parameters cannot be read: name 'NotThere' is not defined"):
        signature(unknown)
    with pytest.raises(JobsError, match=r"job send: .*use types that JSON can carry"):
        signature(unusable)

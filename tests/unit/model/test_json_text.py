"""Inputs: the limits at the front door, the cleaning at the back door."""

from __future__ import annotations

import dataclasses
import enum
import math
import re
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import pydantic
import pytest

from workbell.errors import InvalidInput
from workbell.model.json_text import DEPTH, ERROR_LIMIT, LIMIT, clean_text, decode, encode, encode_result


def nested(depth: int, last: Any = 1) -> Any:
    value: Any = last
    for level in range(depth):
        value = [value] if level % 2 else {"a": value}
    return value


def test_the_limit_is_256_kib_to_the_byte() -> None:
    assert LIMIT == 256 * 1024
    exact = "x" * (LIMIT - 2)  # two quotes
    assert len(encode("it", exact)) == LIMIT
    with pytest.raises(InvalidInput, match=r"^it is 262,145 bytes as JSON and the limit is 262,144; store it"):
        encode("it", exact + "x")


def test_the_limit_counts_bytes_and_not_characters() -> None:
    with pytest.raises(InvalidInput, match="bytes"):
        encode("it", "é" * (LIMIT // 2))


def test_the_depth_is_limited() -> None:
    assert DEPTH == 32
    encode("it", nested(32))
    with pytest.raises(InvalidInput, match="nested deeper than 32 levels; flatten it"):
        encode("it", nested(33))


def test_many_brackets_side_by_side_are_not_deep() -> None:
    encode("it", [[{}] for _ in range(1000)])
    encode("it", "{[" * 1000)


def endless() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    "value",
    [object(), {"a": {1, 2, object()}}, endless, "\ud800", {"\udfff": 1}, endless()],
    ids=["object", "inside", "function", "surrogate", "surrogate key", "endless"],
)
def test_what_json_cannot_carry_is_refused(value: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^it cannot be written as JSON: .+\.$"):
        encode("it", value)


def test_a_model_whose_own_code_fails_is_refused() -> None:
    class Model:
        def model_dump(self, mode: str) -> Any:
            raise RuntimeError("it broke")

    with pytest.raises(InvalidInput, match="it broke"):
        encode("it", Model())


def test_what_python_has_is_written_plainly() -> None:
    @dataclasses.dataclass
    class Point:
        x: int

    class Colour(enum.Enum):
        RED = "red"

    class Model:
        def model_dump(self, mode: str) -> dict[str, str]:
            return {"mode": mode}

    value = {
        "point": Point(1),
        "colour": Colour.RED,
        "time": datetime(2030, 1, 1, tzinfo=UTC),
        "id": UUID(int=1),
        "model": Model(),
        "nul": "a\x00b",
        "tuple": (1, 2),
    }
    assert decode(encode("it", value)) == {
        "point": {"x": 1},
        "colour": "red",
        "time": "2030-01-01T00:00:00Z",
        "id": str(UUID(int=1)),
        "model": {"mode": "json"},
        "nul": "a\x00b",
        "tuple": [1, 2],
    }
    assert "\x00" not in encode("it", value)  # as an escape, which every store takes
    assert decode(None) is None


@dataclasses.dataclass
class Reading:
    name: str
    values: list[Any]


class Measured(pydantic.BaseModel):
    mean: float
    more: dict[str, Any] = {}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (math.nan, "it is nan, which JSON cannot carry; leave it out, or use None or a text."),
        (-math.inf, "it is -inf, which"),
        ({"a": [1.5, None, {"b.c": math.inf}]}, "it: a[2].b.c is inf, which"),
        ({"first": math.nan, "second": math.inf}, "it: first is nan, which"),
        ((1, {7: math.nan}), "it: [1].7 is nan, which"),
        (Reading("x", [None, math.nan]), "it: values[1] is nan, which"),
        (Measured(mean=math.nan), "it: mean is nan, which"),
        ({"all": [Measured(mean=1, more={"top": math.inf})]}, "it: all[0].more.top is inf, which"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_numbers_that_json_lacks_are_refused_with_their_place(value: Any, said: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(said)):
        encode("it", value)
    assert "null" in encode_result("it", value)  # what a handler leaves behind is booked all the same


def test_what_is_null_is_no_number() -> None:
    value = {"none": None, "text": "null", "model": Measured(mean=1, more={"at": datetime(2030, 1, 1, tzinfo=UTC)})}
    assert decode(encode("it", value))["none"] is None
    assert decode(encode("it", Reading("nan", ["inf", Decimal("NaN")]))) == {"name": "nan", "values": ["inf", "NaN"]}


def test_text_is_cleaned_for_every_store() -> None:
    assert clean_text("a\x00b\ud800c") == "a\N{REPLACEMENT CHARACTER}b?c"
    assert clean_text("fine — ✓") == "fine — ✓"


def test_of_a_huge_text_the_middle_goes() -> None:
    cut = clean_text("start" + "x" * 10**6 + "end")
    assert len(cut) <= ERROR_LIMIT
    assert cut.startswith("start")
    assert cut.endswith("end")
    assert "characters left out" in cut

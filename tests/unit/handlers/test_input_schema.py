"""A handler's parameters as JSON Schema: what forms are made from."""

from __future__ import annotations

import dataclasses
import threading
from datetime import datetime

import pydantic

from workbell.handlers.context import Context
from workbell.handlers.signature import Signature


@dataclasses.dataclass
class Parcel:
    weight: float
    fragile: bool = False


def test_arguments_with_their_defaults() -> None:
    light = Parcel(1.5)

    def ship(ctx: Context, to: str, parcel: Parcel = light, copies: int = 2, note: str | None = None) -> None: ...

    found = Signature("ship", ship).schema
    assert found is not None
    assert (found["type"], found["required"], found["additionalProperties"]) == ("object", ["to"], False)
    assert found["properties"]["to"] == {"type": "string"}
    assert found["properties"]["copies"] == {"type": "integer", "default": 2}
    assert found["properties"]["note"]["default"] is None
    assert found["properties"]["parcel"]["default"] == {"weight": 1.5, "fragile": False}
    assert found["$defs"].keys() == {"Parcel"}


def test_a_default_that_json_cannot_carry_is_left_out() -> None:
    unset = object()

    def ship(to: str = unset) -> None: ...  # type: ignore[assignment]

    found = Signature("ship", ship).schema
    assert found is not None
    assert found["properties"] == {"to": {"type": "string"}}


class Item(pydantic.BaseModel):
    """One line of an order."""

    name: str = pydantic.Field(description="What it is.")
    amount: int = 1


class Order(pydantic.BaseModel):
    items: list[Item]
    due: datetime | None = None


class Opaque(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(arbitrary_types_allowed=True)
    thread: threading.Thread


def test_a_pydantic_model_says_its_own_schema() -> None:
    def ship(to: str, order: Order, gift: Item | None = None) -> None: ...

    found = Signature("ship", ship).schema
    assert found is not None
    assert found["properties"]["to"] == {"type": "string"}
    order = found["properties"]["order"]
    assert (order["title"], order["required"]) == ("Order", ["items"])
    gift = found["properties"]["gift"]
    assert gift["default"] is None
    assert gift["anyOf"][0] == Item.model_json_schema()
    # A reference inside the model leads to where it stands now.
    reference = order["properties"]["items"]["items"]["$ref"].removeprefix("#/$defs/")
    assert found["$defs"][reference] == Item.model_json_schema()


def test_a_model_without_a_schema_takes_no_other_argument_away() -> None:
    def ship(to: str, order: Opaque) -> None: ...

    found = Signature("ship", ship).schema
    assert found is not None
    assert found["properties"] == {"to": {"type": "string"}, "order": {"title": "Opaque"}}


def test_times_have_their_format() -> None:
    def ship(at: datetime, not_before: datetime | None = None, stops: list[datetime | None] = (), to: str = "") -> None:  # type: ignore[assignment]
        ...

    time = {"type": "string", "format": "date-time"}
    found = Signature("ship", ship).schema
    assert found is not None
    assert found["properties"] == {
        "at": time,
        "not_before": {"anyOf": [time, {"type": "null"}], "default": None},
        "stops": {"type": "array", "items": {"anyOf": [time, {"type": "null"}]}, "default": []},
        "to": {"type": "string", "default": ""},
    }

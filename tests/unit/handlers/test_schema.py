"""A handler's parameters as JSON Schema: what forms are made from."""

from __future__ import annotations

import dataclasses

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

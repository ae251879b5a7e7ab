"""The OpenAPI page: valid, small, and with one component for what several operations share."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec
from openapi_spec_validator import OpenAPIV31SpecValidator

from workbell.wire.openapi import openapi
from workbell.wire.operation import PREFIX
from workbell.wire.table import OPERATIONS

PAGE = openapi()
MOST_BYTES = 250_000
COMPONENT_NAME = re.compile(r"[A-Za-z0-9_-]+")


def parts(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        value = [*value.values()]
    if isinstance(value, list):
        for one in value:
            yield from parts(one)


def test_it_is_valid() -> None:
    OpenAPIV31SpecValidator(PAGE).validate()


def test_it_is_small() -> None:
    assert len(msgspec.json.encode(PAGE)) <= MOST_BYTES


def test_every_operation_is_on_it_once() -> None:
    found = {
        (method.upper(), path.removeprefix(PREFIX)): one["operationId"]
        for path, methods in PAGE["paths"].items()
        for method, one in methods.items()
    }
    assert found == {(one.method, one.path): one.name for one in OPERATIONS}
    assert len({*found.values()}) == len(OPERATIONS)


def test_every_reference_leads_to_a_component_and_every_component_is_used() -> None:
    used = {part["$ref"] for part in parts(PAGE) if isinstance(part.get("$ref"), str)}
    made = {
        f"#/components/{kind}/{name}"
        for kind in ("schemas", "parameters", "responses")
        for name in PAGE["components"][kind]
    }
    assert used == made
    assert all(COMPONENT_NAME.fullmatch(name.rpartition("/")[2]) for name in made)


def test_what_several_operations_share_stands_once() -> None:
    own = [
        msgspec.json.encode(one)
        for methods in PAGE["paths"].values()
        for operation in methods.values()
        for one in operation.get("parameters", ())
        if "$ref" not in one
    ]
    assert len(own) == len({*own})
    limits = [one for one in PAGE["components"]["parameters"].values() if one["name"] == "limit"]
    assert len(limits) > 1, "of one name there are several"


def test_a_query_has_no_null() -> None:
    for methods in PAGE["paths"].values():
        for operation in methods.values():
            for one in operation.get("parameters", ()):
                assert "null" not in msgspec.json.encode(one).decode()
    assert "null" not in msgspec.json.encode(PAGE["components"]["parameters"]).decode()


def test_the_summary_is_not_repeated() -> None:
    enqueue = PAGE["paths"]["/api/v1/runs"]["post"]
    assert enqueue["summary"] == "Enqueue a run: have a job run by a worker."
    assert enqueue["summary"] not in enqueue["description"]
    assert enqueue["description"].startswith("The `Idempotency-Key` becomes")
    assert enqueue["description"].endswith("Needs a token with the scope `enqueue`.")


def test_open_operations_need_no_token() -> None:
    assert PAGE["security"] == [{"token": []}]
    open_ones = {one["operationId"] for paths in PAGE["paths"].values() for one in paths.values() if "security" in one}
    assert open_ones == {one.name for one in OPERATIONS if one.open}

"""JSON Merge Patch: the table of RFC 7396 (appendix A), its laws, and the input of a run."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbell.errors import InvalidInput
from workbell.model.json_text import LIMIT
from workbell.model.merge_patch import merge_input, merge_patch

# Of the RFC: the original, the patch, the result.
TABLE = [
    ('{"a":"b"}', '{"a":"c"}', '{"a":"c"}'),
    ('{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'),
    ('{"a":"b"}', '{"a":null}', "{}"),
    ('{"a":"b","b":"c"}', '{"a":null}', '{"b":"c"}'),
    ('{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'),
    ('{"a":"c"}', '{"a":["b"]}', '{"a":["b"]}'),
    ('{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}'),
    ('{"a":[{"b":"c"}]}', '{"a":[1]}', '{"a":[1]}'),
    ('["a","b"]', '["c","d"]', '["c","d"]'),
    ('{"a":"b"}', '["c"]', '["c"]'),
    ('{"a":"foo"}', "null", "null"),
    ('{"a":"foo"}', '"bar"', '"bar"'),
    ('{"e":null}', '{"a":1}', '{"e":null,"a":1}'),
    ("[1,2]", '{"a":"b","c":null}', '{"a":"b"}'),
    ("{}", '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}'),
]

leaves = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=5)
names = st.sampled_from("abcd")
values = st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=4))
objects = st.dictionaries(names, values, max_size=4)


def without_nulls(value: Any) -> Any:
    """What a patch leaves of itself: members that are null are removed, at every depth of objects."""
    if not isinstance(value, dict):
        return value
    return {name: without_nulls(part) for name, part in value.items() if part is not None}


@pytest.mark.parametrize(("original", "patch", "result"), TABLE, ids=[f"{a} {b}" for a, b, _ in TABLE])
def test_the_table_of_the_rfc(original: str, patch: str, result: str) -> None:
    assert merge_patch(json.loads(original), json.loads(patch)) == json.loads(result)


@given(values, values)
def test_neither_is_changed_and_twice_is_once(target: Any, patch: Any) -> None:
    before = copy.deepcopy((target, patch))
    once = merge_patch(target, patch)
    assert merge_patch(once, patch) == once
    assert (target, patch) == before


@given(objects)
def test_an_empty_patch_changes_nothing(target: dict[str, Any]) -> None:
    assert merge_patch(target, {}) == target


@given(values)
def test_onto_nothing_a_patch_is_itself_without_nulls(patch: Any) -> None:
    assert merge_patch({}, patch) == merge_patch(None, patch) == without_nulls(patch)


@given(objects, objects)
def test_every_member_is_that_of_the_patch_or_of_the_target(target: dict[str, Any], patch: dict[str, Any]) -> None:
    merged = merge_patch(target, patch)
    assert merged.keys() == {name for name in target.keys() | patch.keys() if patch.get(name, 0) is not None}
    for name, value in merged.items():
        if name not in patch:
            assert value == target[name]
        elif not isinstance(patch[name], dict):
            assert value == patch[name]
        else:
            assert value == merge_patch(target.get(name), patch[name])


@given(objects, objects)
def test_the_input_of_a_run(template: dict[str, Any], given_input: dict[str, Any]) -> None:
    texts = json.dumps(template), json.dumps(given_input)
    merged = merge_input("send", *texts)
    assert merged is not None
    assert json.loads(merged) == merge_patch(template, given_input)
    assert merge_input("send", None, texts[1]) == texts[1]
    assert merge_input("send", texts[0], None) == texts[0]


def test_the_limit_is_that_of_the_whole_input() -> None:
    half = "x" * (LIMIT // 2)
    with pytest.raises(InvalidInput, match=r"job send: the input, merged onto its template, is .* bytes"):
        merge_input("send", json.dumps({"a": half}), json.dumps({"b": half}))

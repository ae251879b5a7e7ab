"""Names in paths: a slash that is part of one."""

from __future__ import annotations

from urllib.parse import unquote

import pytest

from workbell.errors import NotFound
from workbell.http.path_names import STAND_IN, whole_name, with_whole_names
from workbell.remote.call import path


def parts_of(raw: str) -> list[str]:
    scope = {"raw_path": raw.encode(), "path": unquote(raw)}
    found = with_whole_names(scope)
    return [whole_name(part) for part in (scope if found is None else found)["path"].split("/")]


@pytest.mark.parametrize(
    "name", ["a/b", "/", "a//b", "a/b/pause", "%2F", "a%2fb/c", "ключ/é", "a b/c+d", "a%", "plain"]
)
def test_a_name_comes_as_it_was_sent(name: str) -> None:
    assert parts_of(f"/api/v1{path('schedules', name, 'pause')}") == ["", "api", "v1", "schedules", name, "pause"]


def test_what_was_not_sent_so_is_left_alone() -> None:
    assert with_whole_names({"path": "/a/b"}) is None
    assert with_whole_names({"path": "/mounted/a/b", "raw_path": b"/a%2Fb"}) is None
    assert parts_of("/a%252Fb") == ["", "a%2Fb"]
    assert not STAND_IN.isprintable()  # so that no name has it


@pytest.mark.parametrize("name", ["", ".", ".."])
def test_a_name_that_would_lead_elsewhere_is_not_sent(name: str) -> None:
    with pytest.raises(NotFound, match="over HTTP"):
        path("runs", name)

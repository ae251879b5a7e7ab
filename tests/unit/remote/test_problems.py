"""Exceptions for problems whose name this version does not know: the status says which."""

from __future__ import annotations

import pytest

from workbell import errors
from workbell.remote.problems import ServiceProblem, same_class
from workbell.wire.problem import TYPE


@pytest.mark.parametrize("name", ["InvalidRequest", "Unheard", "", "a b"])
@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, errors.InvalidOption),
        (401, errors.Unauthorized),
        (403, errors.Forbidden),
        (404, errors.NotFound),
        (409, errors.WorkbellError),
        (413, errors.TooLarge),
        (422, errors.InvalidOption),
        (429, errors.TooMany),
        (500, errors.WorkbellError),
        (502, errors.ServiceUnavailable),
        (503, errors.ServiceUnavailable),
        (504, errors.ServiceUnavailable),
    ],
)
def test_the_status_of_an_unknown_name(name: str, status: int, kind: type[Exception]) -> None:
    assert same_class(ServiceProblem(f"{TYPE}{name}"), status) is kind


@pytest.mark.parametrize("status", [400, 409, 503])
def test_a_known_name_before_the_status(status: int) -> None:
    assert same_class(ServiceProblem(f"{TYPE}StoreUnavailable"), status) is errors.StoreUnavailable

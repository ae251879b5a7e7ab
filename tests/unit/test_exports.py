"""The names of `workbell`: a caller can catch by name whatever it raises."""

from __future__ import annotations

import inspect

import workbell
from workbell import errors


def test_every_error_is_exported() -> None:
    # `workbell.Client` raises any of them: an answer names the class that the service raised.
    there = {name for name, kind in vars(errors).items() if inspect.isclass(kind)}
    assert there <= set(workbell.__all__)
    assert all(getattr(workbell, name) is getattr(errors, name) for name in there)


def test_every_name_is_there() -> None:
    assert all(hasattr(workbell, name) for name in workbell.__all__)

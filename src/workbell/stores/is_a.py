"""Type checks by class name, for values of packages that need not be installed."""

from __future__ import annotations

from typing import Any


def is_a(value: Any, package: str, name: str | None = None) -> bool:
    """Whether a value's class comes from a package that need not be installed; also a subclass made elsewhere."""
    return any(
        f"{base.__module__}.".startswith(f"{package}.") and (name is None or base.__name__ == name)
        for base in type(value).__mro__
    )

"""Alembic: a filter that has autogenerate leave Workbell's tables alone, where they share a database with yours.

In `env.py`:

    from workbell.alembic import include_name

    context.configure(…, include_name=include_name)

Together with a filter of your own: `include_name(name, type_, parent_names) and mine(name, type_, parent_names)`.
`workbell migrate` makes and changes Workbell's tables.
"""

from __future__ import annotations

from collections.abc import Mapping

PREFIX = "workbell_"  # of the names of all our tables; indexes go with their tables


def include_name(name: str | None, type_: str, parent_names: Mapping[str, str | None]) -> bool:
    """Whether autogenerate is to read a thing of this name from the database: not if it is a table of Workbell."""
    return type_ != "table" or name is None or not name.startswith(PREFIX)

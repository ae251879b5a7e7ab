"""Alembic's autogenerate beside Workbell's tables: with our filter it proposes nothing, without it to drop them."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Column, Index, Integer, MetaData, Table
from sqlalchemy.exc import SAWarning

from tests.integration.connection_ways import engine_for
from tests.support.inside.stores import migrations
from workbell import Workbell
from workbell.alembic import include_name


def proposed(url: str, metadata: MetaData, include: Callable[..., bool] | None) -> list[Any]:
    """What autogenerate would write."""
    with engine_for(url).connect() as connection:
        context = MigrationContext.configure(connection, opts={"include_name": include} if include else {})
        return compare_metadata(context, metadata)


def own_tables() -> MetaData:
    metadata = MetaData()
    table = Table("orders", metadata, Column("id", Integer, primary_key=True), Column("total", Integer))
    Index("orders_total", table.c.total)
    return metadata


def test_nothing_is_proposed_about_our_tables(bell: Workbell, sql_store_url: str) -> None:
    bell.runs()  # makes the tables
    metadata = own_tables()
    metadata.create_all(engine_for(sql_store_url))
    assert proposed(sql_store_url, metadata, include_name) == []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SAWarning)  # of indexes on expressions, which SQLAlchemy does not read
        dropped = {what[1].name for what in proposed(sql_store_url, metadata, None) if what[0] == "remove_table"}
    assert "workbell_runs" in dropped
    assert all(not include_name(name, "table", {}) for name in dropped)


def test_it_goes_with_a_filter_of_ones_own(bell: Workbell, sql_store_url: str) -> None:
    bell.runs()
    own_tables().create_all(engine_for(sql_store_url))

    def both(name: str | None, type_: str, parent_names: Any) -> bool:
        return include_name(name, type_, parent_names) and name != "orders"

    assert [what[0] for what in proposed(sql_store_url, MetaData(), include_name)] == ["remove_index", "remove_table"]
    assert proposed(sql_store_url, MetaData(), both) == []


def test_only_our_tables_are_left_out() -> None:
    assert include_name("orders", "table", {"schema_name": None})
    assert include_name("workbell_runs", "column", {"table_name": "orders"})
    assert include_name(None, "schema", {})
    for engine in ("postgres", "sqlite"):
        made = [name for _, _, text in migrations(engine) for name in re.findall(r"CREATE TABLE (\w+)", text)]
        assert len(made) > 20
        assert not any(include_name(name, "table", {}) for name in made)

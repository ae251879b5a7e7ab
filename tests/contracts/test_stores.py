"""The contracts of a store: of the core on all three (the fixture `store` has them in turn), of the parts on SQL."""

from collections import Counter

import pytest

from workbell.testing.contracts.core import CoreContract
from workbell.testing.contracts.parts import PartsContract


class TestCore(CoreContract):
    """Memory, SQLite on a real file, PostgreSQL."""


class TestParts(PartsContract):
    """SQLite on a real file, PostgreSQL."""

    @pytest.fixture
    def store_url(self, sql_store_url: str) -> str:
        return sql_store_url


def test_no_part_of_a_contract_hides_another() -> None:
    """Of two tests with one name only the first would run."""
    parts = {*CoreContract.__mro__[1:], *PartsContract.__mro__[1:]}
    names = Counter(name for part in parts for name in vars(part) if name.startswith("test_"))
    assert [name for name, count in names.items() if count > 1] == []

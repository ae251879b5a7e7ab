"""The contract of a store, on all three (the fixture `store` has them in turn)."""

from collections import Counter

from workbell.testing.contracts.store import StoreContract


class TestStores(StoreContract):
    """Memory, SQLite on a real file, PostgreSQL."""


def test_no_part_of_the_contract_hides_another() -> None:
    """Of two tests with one name only the first would run."""
    names = Counter(name for part in StoreContract.__mro__[1:] for name in vars(part) if name.startswith("test_"))
    assert [name for name, count in names.items() if count > 1] == []

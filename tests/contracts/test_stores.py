"""The contract of a store, on all three (the fixture `store` has them in turn)."""

from workbell.testing.contracts.store import StoreContract


class TestStores(StoreContract):
    """Memory, SQLite on a real file, PostgreSQL."""

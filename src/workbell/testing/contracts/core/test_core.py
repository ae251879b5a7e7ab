"""`pytest --pyargs workbell.testing.contracts.core --workbell-store URL`: the contract, on the store of a URL."""

from workbell.testing.contracts.core import CoreContract
from workbell.testing.contracts.on_url import OnUrl


class TestCore(OnUrl, CoreContract):
    pass

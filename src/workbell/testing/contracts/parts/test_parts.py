"""`pytest --pyargs workbell.testing.contracts.parts --workbell-store URL`: the contract, on the store of a URL."""

from workbell.testing.contracts.on_url import OnUrl
from workbell.testing.contracts.parts import PartsContract


class TestParts(OnUrl, PartsContract):
    pass

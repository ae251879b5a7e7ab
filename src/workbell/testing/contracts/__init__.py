"""What every adapter must do, as tests: subclass a contract and supply the fixtures that it names.

    class TestMyStore(StoreContract):
        @pytest.fixture
        def store(self): ...

Or, without code, on a URL: `pytest --pyargs workbell.testing.contracts --workbell-store 'mydb://test_{new}'`.

The contract of a store is in `contracts.store`, that of a queue in `contracts.queue`.
"""

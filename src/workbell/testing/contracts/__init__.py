"""Contract tests for adapters: subclass a contract and supply the fixtures that it names.

    class TestMyStore(CoreContract):
        @pytest.fixture
        def store(self): ...

Or, without code, on a URL: `pytest --pyargs workbell.testing.contracts.core --workbell-store 'mydb://test_{new}'`.

`contracts.core` is what every store must do, `contracts.parts` what one with events, logs and all the rest does as
well, `contracts.database` the contract of an SQL database, `contracts.queue` that of a queue.
"""

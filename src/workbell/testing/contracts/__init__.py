"""What every adapter must do, as tests: subclass a contract, supply the fixture it names, and pytest does the rest.

    class TestMyStore(StoreContract):
        @pytest.fixture
        def store(self):
            ...
"""

"""Contract of a queue, run on the queue of a URL: `pytest --pyargs workbell.testing.contracts.queue_of_url`.

With `--workbell-queue URL`. It is not collected with the contract of a store, which needs another URL.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from workbell.errors import WorkbellError
from workbell.queues.opening import open_queue
from workbell.queues.port import Queue
from workbell.stores.opening import open_store
from workbell.testing.contracts.by_url import end, renewed
from workbell.testing.contracts.queue import Connect, QueueContract


class TestQueue(QueueContract):
    @pytest.fixture
    def connect(
        self,
        request: pytest.FixtureRequest,
        tmp_path_factory: pytest.TempPathFactory,
        monkeypatch: pytest.MonkeyPatch,
    ) -> Iterator[Connect]:
        """Opens the same queue each time; a file with a relative name lies in a folder that is removed."""
        folder = tmp_path_factory.mktemp("workbell-contract")
        monkeypatch.chdir(folder)
        url_option: str | None = request.config.getoption("workbell_queue")
        if not url_option:
            end("No queue is named to test: give --workbell-queue URL, such as 'myqueue://host/test_{new}'.")
        url, store, opened = renewed(url_option), open_store("memory://"), list[Queue]()

        def connect() -> Queue:
            try:
                opened.append(open_queue(url, store))
            except WorkbellError as error:
                end(str(error))
            return opened[-1]

        yield connect
        for queue in opened:
            queue.close()
        monkeypatch.undo()
        shutil.rmtree(folder, ignore_errors=True)

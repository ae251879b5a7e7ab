"""What both stores have in common: a no-op job, enqueued and worked on with the shipped defaults."""

from common import chunks, hit

from workbell import Workbell

CONFIG = "shipped defaults: concurrency 10, lease 30 s, arguments checked at both ends, finished runs kept"


def define(url: str, names: dict) -> None:
    """Put the functions that the harness looks for into a peer's module."""
    bell = Workbell(url)

    @bell.job
    async def noop(sent: int) -> None:
        hit(sent)

    def enqueue(stamps):
        for stamp in stamps:
            noop.enqueue(sent=stamp)

    def enqueue_bulk(n):
        for size in chunks(n, 1000):
            bell.enqueue_many(noop.request(sent=0) for _ in range(size))

    def worker(procs):
        bell.run()

    names |= {"bell": bell, "enqueue": enqueue, "enqueue_bulk": enqueue_bulk, "worker": worker}

"""Group commit for enqueue requests: those that arrive during a transaction share the next one.

A thread hop for each request would cost more than the request itself; so they gather here, and one hop checks and
writes all of them. What is wrong with one does not touch the others.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from workbell.client.local import LocalClient
from workbell.errors import ServiceUnavailable, StoreUnavailable
from workbell.http.policies.idempotency import ANSWER_TTL
from workbell.model.keys import KeyScope
from workbell.model.request import Request, asked_once, is_gone_early, with_chosen_id
from workbell.model.run import IdempotencyKey, Run
from workbell.runs.enqueuing import Enqueuing

MOST = 2_000  # runs in one transaction
OURS = "http:"  # prefix of run keys that stand for HTTP requests


class ChosenId(NamedTuple):
    """The id that a client chose for a run, and the fingerprint of its request."""

    run_id: str
    fingerprint: str


class Order(NamedTuple):
    """Arguments of one enqueue."""

    job: str
    input: dict[str, Any] | None
    options: Mapping[str, Any]
    once: IdempotencyKey | None = None
    chosen: ChosenId | None = None

    def request(self, client: LocalClient) -> Request:
        request = client.request(self.job, self.input, **self.options)
        if self.once is not None:
            request = request._replace(new=asked_once(request.new, self.once))
        if self.chosen is None:
            return request
        run_id, fingerprint = self.chosen
        if request.new.run.key_text is None and is_gone_early(request.new.run, client.runtime.keep):
            # The id alone would not tell a repeated request once the run is gone: a key keeps both.
            return self.under(run_id, IdempotencyKey(run_id, fingerprint)).request(client)
        return request._replace(new=with_chosen_id(request.new, run_id, fingerprint))

    def under(self, key: str, once: IdempotencyKey) -> Order:
        """The same order under a key that stands for its HTTP request."""
        options = {**self.options, "key": f"{OURS}{key}", "key_for": ANSWER_TTL, "key_scope": KeyScope.TENANT}
        return self._replace(options=options, once=once)


class WaitingEnqueue(NamedTuple):
    client: LocalClient
    orders: Sequence[Order]
    answer: asyncio.Future[list[Run]]


class EnqueueGroups:
    """Gathers the orders of requests that come at the same time."""

    def __init__(self, client: LocalClient) -> None:
        self._enqueuing = Enqueuing(client.runtime)
        self._waiting: list[WaitingEnqueue] = []
        self._writing: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="workbell-http-enqueue")

    async def put(self, client: LocalClient, orders: Sequence[Order]) -> list[Run]:
        """The runs that stand for these orders, once they are durable; all of them, or none and the error."""
        loop = asyncio.get_running_loop()
        waiting = WaitingEnqueue(client, orders, loop.create_future())
        self._waiting.append(waiting)
        if self._writing is None or self._writing.done():
            self._writing = loop.create_task(self._write_all())
        return await waiting.answer

    async def _write_all(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            batch = self._next()
            results: Sequence[list[Run] | BaseException]
            try:
                results = await loop.run_in_executor(self._thread, self._write, batch)
            except RuntimeError:  # its thread has ended; the waiting requests get the error
                results = [ServiceUnavailable("The server stops; ask again in a moment.")] * len(batch)
            for waiting, result in zip(batch, results, strict=True):
                if waiting.answer.done():  # the caller has gone
                    continue
                if isinstance(result, BaseException):
                    waiting.answer.set_exception(result)
                else:
                    waiting.answer.set_result(result)

    def _next(self) -> list[WaitingEnqueue]:
        """The next batch for a transaction: tenants in turn, so that a flood of one delays no other."""
        if sum([len(waiting.orders) for waiting in self._waiting]) <= MOST:
            batch, self._waiting = self._waiting, []
            return batch
        ahead: Counter[str] = Counter()
        positions = []
        for waiting in self._waiting:
            positions.append(ahead[waiting.client.tenant])
            ahead[waiting.client.tenant] += len(waiting.orders)
        if len(ahead) > 1:
            order = sorted(range(len(positions)), key=positions.__getitem__)
            self._waiting = [self._waiting[index] for index in order]
        size, count = 0, 0
        while count < len(self._waiting) and (not count or size + len(self._waiting[count].orders) <= MOST):
            size += len(self._waiting[count].orders)
            count += 1
        batch, self._waiting = self._waiting[:count], self._waiting[count:]
        return batch

    def _write(self, batch: Sequence[WaitingEnqueue]) -> list[list[Run] | BaseException]:
        answers: list[list[Run] | BaseException] = []
        good: list[tuple[int, list[Request]]] = []
        for index, waiting in enumerate(batch):
            try:
                good.append((index, [order.request(waiting.client) for order in waiting.orders]))
                answers.append([])
            except Exception as error:  # noqa: BLE001  whatever it is, it belongs to this one alone
                answers.append(error)
        try:
            runs = iter(self._enqueuing.write([request for _, requests in good for request in requests]))
            for index, requests in good:
                answers[index] = [next(runs) for _ in requests]
        except StoreUnavailable as error:  # it may have been written all the same: not to be tried again here
            for index, _ in good:
                answers[index] = error
        except Exception:  # noqa: BLE001  of one, and with it nothing was written of all that shared its transaction
            for index, requests in good:
                answers[index] = self._write_alone(requests)
        return answers

    def _write_alone(self, requests: Sequence[Request]) -> list[Run] | BaseException:
        try:
            return self._enqueuing.write(requests)
        except Exception as error:  # noqa: BLE001
            return error

    def close(self, wait: bool = True) -> None:
        self._thread.shutdown(wait=wait)

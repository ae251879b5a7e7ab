"""Transport: executes calls and plans, with retries after lost answers. For sync and for async code."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any, TypeVar

from workbell.errors import ClockSkew, ServiceUnavailable, WorkbellError
from workbell.model.ids import new_id
from workbell.remote.address import Address
from workbell.remote.call import Plan, RemoteCall, Reply, Sending, Step, ignore, sending
from workbell.remote.problems import problem_of, read
from workbell.remote.tries import Tries

if TYPE_CHECKING:
    from workbell.remote.pool import Pool

T = TypeVar("T")

NOT_FOUND = 404


class ServiceTransport:
    """Calls for one tenant; those of other tenants share its pool."""

    def __init__(self, address: Address, pool: Pool, tenant: str | None = None) -> None:
        self.address = address
        self.tenant = tenant
        self.pool = pool
        self._randomness = Random(os.urandom(8))

    def send(self, call: RemoteCall[T]) -> T:
        from workbell.remote.pool import Broken

        request, tries = self._sending(call), Tries(self.address.shown, self._randomness)
        while True:
            try:
                reply = self.pool.exchange(request)
            except Broken as error:
                time.sleep(tries.after_trouble(str(error)))
                continue
            pause = tries.after_reply(reply)
            if pause is None:
                return self._answer(call, reply, tries)
            time.sleep(pause)

    async def asend(self, call: RemoteCall[T]) -> T:
        from workbell.remote.pool import Broken

        request, tries = self._sending(call), Tries(self.address.shown, self._randomness)
        while True:
            try:
                reply = await self.pool.aexchange(request)
            except Broken as error:
                await asyncio.sleep(tries.after_trouble(str(error)))
                continue
            pause = tries.after_reply(reply)
            if pause is None:
                return self._answer(call, reply, tries)
            await asyncio.sleep(pause)

    def follow(self, plan: Plan[T]) -> T:
        """Carry out a plan. What a call raises is raised in the plan, which may know what to do about it."""
        step: Callable[[], Step] = partial(next, plan)
        try:
            while True:
                wanted = step()
                try:
                    answer = _nap(wanted) if isinstance(wanted, float) else self.send(wanted)
                except WorkbellError as error:
                    step = partial(plan.throw, error)
                else:
                    step = partial(plan.send, answer)
        except StopIteration as ended:
            found: T = ended.value
            return found

    async def afollow(self, plan: Plan[T]) -> T:
        step: Callable[[], Step] = partial(next, plan)
        try:
            while True:
                wanted = step()
                try:
                    answer = await (asyncio.sleep(wanted) if isinstance(wanted, float) else self.asend(wanted))
                except WorkbellError as error:
                    step = partial(plan.throw, error)
                else:
                    step = partial(plan.send, answer)
        except StopIteration as ended:
            found: T = ended.value
            return found

    def _sending(self, call: RemoteCall[T]) -> Sending:
        key = new_id() if call.method == "POST" and call.keyed else None
        return sending(call, self.address.base, tenant=self.tenant, key=key)

    def _answer(self, call: RemoteCall[T], reply: Reply, tries: Tries) -> T:
        is_gone = reply.status == NOT_FOUND and problem_of(reply.content_type, reply.content) is not None
        if call.read is ignore and tries.lost and is_gone:
            return call.read(b"")  # the answer to a deletion was lost; now it is gone, which is what was wanted
        try:
            found: T = read(call, reply, self.address.shown)
        except ClockSkew as error:
            if tries.lost:  # an earlier try may have made the run: it must not be made under a key instead
                raise ServiceUnavailable(
                    f"{self.address.shown}: an answer was lost, and the request could not be repeated: {error}"
                ) from error
            raise
        return found


def _nap(pause: float) -> Any:
    time.sleep(pause)

"""Methods about executions, over HTTP: runs that events made, in the words of event jobs, and their invocations."""

from __future__ import annotations

from workbell.model.execution import Execution, Invocation
from workbell.remote import readers
from workbell.remote.call import Plan, RemoteCall, get, path
from workbell.remote.transport import ServiceTransport

_read_one, _read_many = readers.plain(Execution), readers.plain_page(Execution)
_read_invocations = readers.plain_items(Invocation)


class RemoteExecuting:
    """The part of a client that shows executions."""

    transport: ServiceTransport

    def executions(
        self,
        *,
        trigger: str | None = None,
        event: str | None = None,
        status: str | None = None,
        before: str | None = None,
        limit: int = 100,
    ) -> list[Execution]:
        """Executions, newest first: of a trigger (by name or id), of an event, or of all.

        `before` is the id of the last one of the page before; `status` is pending, running, completed or failed.
        """
        return self.transport.follow(_executions(trigger, event, status, before, limit))

    async def aexecutions(
        self,
        *,
        trigger: str | None = None,
        event: str | None = None,
        status: str | None = None,
        before: str | None = None,
        limit: int = 100,
    ) -> list[Execution]:
        return await self.transport.afollow(_executions(trigger, event, status, before, limit))

    def execution(self, execution_id: str) -> Execution:
        """An execution by its id, which is that of its run."""
        return self.transport.send(_execution(execution_id))

    async def aexecution(self, execution_id: str) -> Execution:
        return await self.transport.asend(_execution(execution_id))

    def invocations(self, execution_id: str) -> list[Invocation]:
        """Every attempt of an execution, oldest first."""
        return self.transport.send(_invocations(execution_id))

    async def ainvocations(self, execution_id: str) -> list[Invocation]:
        return await self.transport.asend(_invocations(execution_id))


def _executions(
    trigger: str | None, event: str | None, status: str | None, before: str | None, limit: int
) -> Plan[list[Execution]]:
    where = path("executions")
    return readers.up_to(limit, where, _read_many, start=before, trigger=trigger, event=event, status=status)


def _execution(execution_id: str) -> RemoteCall[Execution]:
    return get(path("executions", execution_id), _read_one)


def _invocations(execution_id: str) -> RemoteCall[list[Invocation]]:
    return get(path("executions", execution_id, "invocations"), _read_invocations)

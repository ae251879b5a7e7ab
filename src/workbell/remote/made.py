"""The run that an enqueue returns: read from the service, or built from the request if the token may not read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

import msgspec

from workbell.model.job import QUEUE, TENANT
from workbell.model.request import encoded
from workbell.model.run import Lane, Options, Run, Status
from workbell.model.users import UserId, user_number, user_text
from workbell.remote.options import RemoteRequest
from workbell.remote.readers import plain, plain_items
from workbell.remote.tail import made_at
from workbell.remote.words import ELSEWHERE, NULL, read_run, read_runs, text


class AskedWords(msgspec.Struct, frozen=True):
    """Options of the request."""

    job: str
    input: msgspec.Raw = NULL
    run_at: datetime | None = None
    delay: float = 0.0
    tag: str | None = None
    key: str | None = None
    priority: int = 0
    queue: str = QUEUE
    user_id: UserId = 0
    target: str | None = None
    persistent: bool = True


class MadeWords(msgspec.Struct, frozen=True):
    """Answer to an enqueue by a token without the scope `read`."""

    id: str
    status: Status
    job: str | None = None  # only in the answer with the whole run

    def value(self, asked: RemoteRequest, tenant: str | None) -> Run:
        """The run as it was asked for; what the job adds to that is not known here."""
        order = _asked.decode(bytes(asked.body))
        now = datetime.fromtimestamp(made_at(self.id) / 1000, UTC)
        return Run(
            self.id,
            Lane(asked.tenant or tenant or TENANT, order.queue, order.job, order.target),
            self.status,
            -order.priority,
            order.run_at or now + timedelta(seconds=order.delay),
            now,
            now,
            input_text=text(order.input),
            tag=order.tag,
            key_text=order.key,
            options_text=encoded(Options(user=user_text(order.user_id))),
            user_number=user_number(order.user_id),
            accepted_by=None if order.persistent else ELSEWHERE,
        )


_asked = msgspec.json.Decoder(AskedWords)
_one, _many = plain(MadeWords), plain_items(MadeWords)


def reader(asked: RemoteRequest, tenant: str | None) -> Callable[[bytes], Run]:
    """Reads the run that was made for a request."""

    def read(content: bytes) -> Run:
        try:
            return read_run(content)
        except msgspec.ValidationError:
            made = _one(content)
            if made.job is not None:
                raise
        return made.value(asked, tenant)

    return read


def readers(asked: Sequence[RemoteRequest], tenant: str | None) -> Callable[[bytes], list[Run]]:
    """Reads the runs that were made for requests, in their order."""

    def read(content: bytes) -> list[Run]:
        try:
            return read_runs(content)
        except msgspec.ValidationError:
            made = _many(content)
            if len(made) != len(asked) or any(one.job is not None for one in made):
                raise
        return [one.value(request, tenant) for one, request in zip(made, asked, strict=True)]

    return read

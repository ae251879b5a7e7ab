"""A run that was just made: all of it, or, to who may not read, what was asked for under the id that it got."""

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
    """What was said about a run that was asked for."""

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
    """All that is told of a new run to who may make runs, and not read them."""

    id: str
    status: Status
    job: str | None = None  # told if all of it is

    def value(self, asked: RemoteRequest, tenant: str | None) -> Run:
        """The run as it was asked for; what the job adds to that is not known here."""
        said = _asked.decode(bytes(asked.body))
        now = datetime.fromtimestamp(made_at(self.id) / 1000, UTC)
        return Run(
            self.id,
            Lane(asked.tenant or tenant or TENANT, said.queue, said.job, said.target),
            self.status,
            -said.priority,
            said.run_at or now + timedelta(seconds=said.delay),
            now,
            now,
            input_text=text(said.input),
            tag=said.tag,
            key_text=said.key,
            options_text=encoded(Options(user=user_text(said.user_id))),
            user_number=user_number(said.user_id),
            accepted_by=None if said.persistent else ELSEWHERE,
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

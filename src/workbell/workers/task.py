"""Task of a child process: its kind and settings."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from workbell.boot.recipe import Recipe
from workbell.workers.messages import StoreNamed


class ChildKind(StrEnum):
    WORKER = "worker"
    SERVER = "server"  # schedules, and later what is served over the network
    KEEPER = "keeper"


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a child must know, as plain data."""

    kind: ChildKind
    name: str
    recipe: Recipe
    grace: float
    queues: list[str] | None = None
    concurrency: int | None = None
    watch: bool = False
    probed: bool = False  # somebody is told whether the store answers it
    reports: bool = True  # this child logs the problems of job files, for all
    store: StoreNamed | None = None  # for the keeper, which loads no app


encode_task = msgspec.json.Encoder().encode
decode_task = msgspec.json.Decoder(Task).decode

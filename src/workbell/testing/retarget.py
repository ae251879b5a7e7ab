"""Retargeting: the application's own Workbell works on the store of a test for a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TypeVar

from workbell.client.local import LocalClient
from workbell.testing.inline import inline, is_inline

C = TypeVar("C", bound=LocalClient)


@contextmanager
def retarget(bell: C, to: LocalClient) -> Iterator[C]:
    """Let `bell` read and write the store of `to` inside the block; afterwards it has its own again.

    Jobs, hooks and settings stay those of `bell`. If `to` is inline, so is `bell`. Clients that `bell.for_tenant` gave
    before the block follow.
    """
    runtime, hooks, store = bell.runtime, bell.runtime.hooks, to.store
    before, announce, publisher = runtime.store, hooks.announce, store.publisher
    runtime.store, store.publisher = store, runtime.booking
    hooks.announce = to.runtime.hooks.announce  # else ids would go into the application's own queue
    try:
        with inline(bell) if is_inline(to) else nullcontext():
            yield bell
    finally:
        runtime.store, hooks.announce, store.publisher = before, announce, publisher

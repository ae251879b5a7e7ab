"""Who could run a job: the living that know it and serve its queue."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.unit.makers import NOW, worker_of
from workbell.model.capability import Capability, capability, shortfall
from workbell.model.worker import LOST_AFTER, Worker


@pytest.mark.parametrize(
    ("workers", "found"),
    [
        ([], Capability(0, 0, 0, 0)),
        ([worker_of("send", seen_at=NOW - LOST_AFTER - timedelta(seconds=1))], Capability(0, 0, 0, 0)),
        ([worker_of("send", seen_at=NOW - LOST_AFTER)], Capability(1, 1, 0, 1)),
        ([worker_of("other"), worker_of()], Capability(2, 0, 0, 0)),
        ([worker_of("send", queues=("other",))], Capability(1, 1, 0, 0)),
        ([worker_of("send", queues=("other", "mail"))], Capability(1, 1, 0, 1)),
        ([worker_of("send", stopping=True), worker_of("send", queues=())], Capability(2, 2, 1, 0)),
        ([worker_of("send", stopping=True), worker_of("send")], Capability(2, 2, 1, 1)),
        ([worker_of("send", id="d", drained_at=NOW), worker_of("send")], Capability(2, 2, 0, 1, ("d",))),
        ([worker_of("send", id="d", drained_at=NOW), worker_of("other")], Capability(2, 1, 0, 0, ("d",))),
        ([worker_of("send", id="d", drained_at=NOW, stopping=True)], Capability(1, 1, 1, 0)),
    ],
)
def test_counted(workers: list[Worker], found: Capability) -> None:
    assert capability(workers, "mail", "send", NOW) == found
    assert (shortfall(found, "mail", "send") is None) is bool(found.able)


@pytest.mark.parametrize("job", ["webhook-delivery", "webhook-alert"])
def test_workers_that_cannot_send(job: str) -> None:
    said = shortfall(capability([worker_of("send")], "webhooks", job, NOW), "webhooks", job)
    assert said == (
        "1 worker is running, and it cannot send webhooks: the packages for it are not installed; "
        "pip install 'workbell[webhooks]' where one runs, and start it again."
    )

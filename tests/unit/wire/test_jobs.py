"""Jobs on the wire: all that is shown of a definition or a job of the code arrives as the same job."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from workbell.model.clock import EPOCH
from workbell.model.job import API_SOURCE, Job
from workbell.model.reload import Reload, ReloadOutcome
from workbell.model.retry import Retry
from workbell.model.run_defaults import RunDefaults
from workbell.wire.jobs import JobShown, ReloadShown

NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)
KNOWN: dict[str, Any] = {
    "unserved": None,
    "paused": True,
    "here": True,
    "file_path": "jobs/send.py",
    "schedule": "@daily",
    "on": ("posts.*",),
    "input_schema": {"type": "object"},
}
CODE = Job(id="j", name="send", handler="shop:send", created_at=NOW, updated_at=NOW, processor=True)
DEFINITION = Job(
    id="d",
    name="send-eu",
    handler="send",
    created_at=NOW,
    updated_at=NOW,
    tenant="a",
    queue="eu",
    description="d",
    input_text='{"urgent":true}',
    retry=Retry(attempts=5, give_up_on=("ValueError",)),
    timeout=30.0,
    concurrency=2,
    concurrency_key="to",
    rate="100/m",
    enabled=False,
    options=RunDefaults(priority=5, tag="t", user_id="ada", persistent=False, expires=60.0),
    source=API_SOURCE,
    version=3,
)


def received(shown: JobShown) -> JobShown:
    return msgspec.json.decode(msgspec.json.encode(shown), type=JobShown)


@pytest.mark.parametrize("job", [CODE, DEFINITION])
def test_it_arrives_as_it_is(job: Job) -> None:
    shown = received(JobShown.of(job, **KNOWN))
    assert shown.value() == job
    assert {name: getattr(shown, name) for name in KNOWN} == KNOWN
    assert JobShown.of(shown.value(), **KNOWN) == JobShown.of(job, **KNOWN)


def test_a_priority_that_nobody_set_is_none() -> None:
    assert (JobShown.of(CODE, **KNOWN).priority, JobShown.of(DEFINITION, **KNOWN).priority) == (None, 5)


def test_a_job_that_no_worker_has_stored_has_neither_id_nor_times() -> None:
    job = msgspec.structs.replace(CODE, id="")
    shown = JobShown.of(job, **KNOWN)
    assert (shown.id, shown.created_at, shown.updated_at) == (None, None, None)
    assert received(shown).value() == msgspec.structs.replace(job, created_at=EPOCH, updated_at=EPOCH)


def test_only_a_definition_shows_an_input() -> None:
    sent = [msgspec.json.decode(msgspec.json.encode(JobShown.of(job, **KNOWN))) for job in (CODE, DEFINITION)]
    assert [one["input"] for one in sent] == [None, {"urgent": True}]
    empty = JobShown.of(msgspec.structs.replace(DEFINITION, input_text=None), **KNOWN)
    assert msgspec.json.decode(msgspec.json.encode(empty))["input"] is None


def test_urls_are_shown_in_part() -> None:
    job = msgspec.structs.replace(DEFINITION, alert_url="https://hooks.example.com/secret")
    shown = JobShown.of(job, **KNOWN)
    assert (shown.alert_url, shown.ping_url) == ("https://hooks.example.com/…", None)


def test_a_reload_has_its_number_as_a_text() -> None:
    entry = Reload(7, NOW, "jobs/send.py", ReloadOutcome.FAILED, "it is broken", 3, ("send",), True)
    assert msgspec.json.decode(msgspec.json.encode(ReloadShown.of(entry))) == {
        "id": "7",
        "at": "2030-01-01T12:00:00Z",
        "path": "jobs/send.py",
        "outcome": "failed",
        "message": "it is broken",
        "line": 3,
        "jobs": ["send"],
        "standing": True,
    }

"""One row that cannot be read breaks no list: it is shown with a sentence about it, and everything else goes on.

The rows are spoilt by plain SQL, as another program or a damaged file would: every text column of every table.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from tests.http.conftest import Api, Caller, opened
from tests.http.things import Things
from tests.support.inside.cli import examine
from tests.support.inside.features import LocalClient
from tests.support.inside.values import Rewind, RewindKind, Tally
from tests.support.inside.wire import OPERATIONS, PREFIX
from tests.support.spoilt_rows import Rows
from workbell import Workbell
from workbell.testing import drain

pytestmark = pytest.mark.anyio

CUT = '{"cut'  # no JSON
OTHER = "7"  # JSON, and not what it should be
LISTS = [one for one in OPERATIONS if one.method == "GET" and "{" not in one.path and not one.answers_with]


class Shown(NamedTuple):
    """Where a thing is listed, and the path of the thing itself, by its fields; none: it has no page of its own."""

    listed: str
    one: str | None = None


RUN, JOB, TRIGGER = Shown("/runs", "/runs/{id}"), Shown("/jobs", "/jobs/{name}"), Shown("/triggers", "/triggers/{id}")
ENDPOINT, AGENT = Shown("/webhooks", "/webhooks/{id}"), Shown("/agents", "/agents/{name}")
EVENT, TOKEN, WORKER = Shown("/events", "/events/{id}"), Shown("/tokens"), Shown("/workers")
TENANT = Shown("/tenants", "/tenants/{name}")
JSON = {
    ("runs", "options"): RUN,
    ("runs", "input"): RUN,
    ("runs", "progress"): RUN,
    ("history", "options"): RUN,
    ("history", "input"): RUN,
    ("history", "progress"): RUN,
    ("jobs", "retry"): JOB,
    ("jobs", "options"): JOB,
    ("jobs", "input"): JOB,
    ("jobs", "rate"): JOB,
    ("triggers", "retry"): TRIGGER,
    ("triggers", "options"): TRIGGER,
    ("endpoints", "patterns"): ENDPOINT,
    ("endpoints", "secrets"): ENDPOINT,
    ("endpoints", "retry"): ENDPOINT,
    ("endpoints", "rate"): ENDPOINT,
    ("agents", "labels"): AGENT,
    ("agents", "jobs"): AGENT,
    ("agents", "metrics"): AGENT,
    ("tokens", "kind"): TOKEN,
    ("tokens", "scopes"): TOKEN,
    ("tenants", "rate"): TENANT,
    ("workers", "queues"): WORKER,
    ("workers", "jobs"): WORKER,
}
ONLY_CUT = {("history", "result"): RUN, ("events", "data"): EVENT, ("notifications", "data"): Shown("/notifications")}
WHERE = {"tokens": "name = 't' AND tenant = 'a'", "workers": "true", "tenants": "name = 'a'"}
RETRY_NUMBER = ("jobs", "retry")  # a number is a policy


def fill(bell: Workbell, things: Things, tenant: str) -> None:
    """What `Things` has not made: rows of the other tables that are listed."""
    client, now = bell.for_tenant(tenant), bell.store.clock.now()
    client.notify(7, {"x": 1})
    ended = client.runs(job="send", status="succeeded")[0].id
    minute = now.replace(second=0, microsecond=0)
    place = {"tenant": tenant, "queue": "default", "job": "send", "status": "succeeded"}
    bell.store.tallies.add([Tally(minute=minute, count=1, buckets=(1,), **place)])
    common = {"noticed_at": now, "tenant": tenant, "run": ended, "token": 1, "worker": "w"}
    bell.store.rewinds.add([Rewind(id=ended, kind=RewindKind.GONE, detail="it ended", **common)])
    bell.tenants.put(tenant, weight=2)
    client.jobs.put(f"eu-{tenant}", handler="send", input={"urgent": True}, retry=3, tag="t", rate="1000/s")


async def lists_of(caller: Caller, things: Things) -> dict[str, Any]:
    """Every list of the API, each as its operation says."""
    found = {}
    for operation in LISTS:
        path = things.path(PREFIX + operation.path)
        answer = await caller.send("GET", path)
        assert answer.status_code in (200, 403, 404), (path, answer.text)
        json.loads(answer.content)
        if answer.status_code == 200:
            found[operation.path] = msgspec.json.decode(answer.content, type=operation.answer)
    return found


def python_lists(client: LocalClient) -> list[int]:
    """How many things every list of Python has; each of them can be shown."""
    kinds: list[Callable[[], Any]] = [
        client.runs,
        client.events.list,
        client.triggers.list,
        client.webhooks.list,
        client.schedules.list,
        client.jobs.list,
        client.jobs.recent,
        client.tokens.list,
        client.executions,
        client.workers,
        client.pauses,
    ]
    counts = []
    for kind in kinds:
        found = list(kind())
        assert all(repr(one) for one in found)
        json.dumps([one.as_dict() for one in found if hasattr(one, "as_dict")], default=str)
        counts.append(len(found))
    return counts


def works(bell: Workbell, tenant: str) -> None:
    run = bell.for_tenant(tenant).enqueue("send", {"to": "y"})
    drain(bell)
    assert bell.for_tenant(tenant).get(run.id).status == "succeeded"


@pytest.fixture
def rows(sql_store_url: str) -> Iterator[Rows]:
    rows = Rows(sql_store_url)
    yield rows
    rows.close()


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Each of many broken rows is logged many times."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.timeout(600)
async def test_no_column_breaks_a_list(sql_store_url: str, rows: Rows, tmp_path: Path) -> None:
    async with opened(sql_store_url, tmp_path) as api:
        a, b = Things(api.bell, "a"), Things(api.bell, "b")
        for things, tenant in ((a, "a"), (b, "b")):
            fill(api.bell, things, tenant)
        spoilt = []
        for table, column in rows.columns():
            with rows.spoilt(table, column, CUT) as is_spoilt:
                if not is_spoilt:
                    continue
                try:
                    for caller, things in ((api.admin, a), (api.stranger, b), (api.root, a)):
                        await lists_of(caller, things)
                    python_lists(api.bell.for_tenant("a"))
                    python_lists(api.bell.for_tenant("b"))
                    works(api.bell, "b")
                except Exception as error:
                    raise AssertionError(f"{table}.{column}: {error!r}") from error
            spoilt.append((table.removeprefix("workbell_"), column))
        assert {*JSON, *ONLY_CUT} - {*spoilt} == set()
        assert len(spoilt) > 80


async def test_what_cannot_be_read_is_shown_so(sql_store_url: str, rows: Rows, tmp_path: Path) -> None:
    async with opened(sql_store_url, tmp_path) as api:
        things = Things(api.bell, "a")
        Things(api.bell, "b")
        fill(api.bell, things, "a")
        cases = [(*key, garbage, shown) for key, shown in JSON.items() for garbage in (CUT, OTHER)]
        cases += [(*key, CUT, shown) for key, shown in ONLY_CUT.items()]
        for table, column, garbage, shown in cases:
            if (table, column) == RETRY_NUMBER and garbage == OTHER:
                continue
            where = {"tokens": "name = 't' AND tenant = 'a'", "workers": "true", "tenants": "name = 'a'"}.get(
                table, await _of_a(api, table)
            )
            before = await api.admin.ask("GET", shown.listed)
            with rows.spoilt(f"workbell_{table}", column, garbage, where) as is_spoilt:
                assert is_spoilt, (table, column)
                told = await api.admin.ask("GET", shown.listed)
                assert len(told["items"]) == len(before["items"]), (table, column)
                [broken] = [one for one in told["items"] if one["unreadable"] is not None]
                assert f"its stored `{column}` cannot be read (" in broken["unreadable"]
                if shown.one is not None:
                    problem = await api.admin.ask("GET", shown.one.format_map(broken), 409)
                    assert problem["type"].endswith(":UnreadableRow")
                    assert broken["unreadable"] in problem["detail"]
                if (table, column) in {("jobs", "retry"), ("runs", "options"), ("workers", "jobs")}:
                    assert any(f"`{column}`" in one.text for one in examine(sql_store_url).findings)


async def _of_a(api: Api, table: str) -> str:
    """The condition for rows of tenant a: of runs by their ids."""
    if table in ("runs", "history"):
        ids = ", ".join(f"'{run.id}'" for run in api.a.runs(limit=1000))
        return f"id IN ({ids})"
    return "tenant = 'a'" + (" AND source = 'api'" if table == "jobs" else "")

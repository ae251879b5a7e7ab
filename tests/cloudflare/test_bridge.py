"""The bridge itself, by HTTP: who may call it, what it takes, and what it answers."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import pytest

from tests.cloudflare.miniflare import TOKEN, Miniflare, open_d1
from tests.support.command_line import call
from tests.support.warm import SOURCE
from workbell import StoreError, StoreUnavailable, Workbell, WrongConnection
from workbell.stores.d1.bridge_files import queries_module, write_bridge
from workbell.stores.d1.query_set import QuerySet, digest, query_set
from workbell.stores.database import Statement
from workbell.stores.port import Filter
from workbell.stores.sql_store import SqlStore
from workbell.testing.contracts.making import add, request
from workbell.version import __version__

SELECT = "SELECT json_array(1) AS a"


def ask(address: str, body: Any = None, token: str | None = TOKEN, **words: Any) -> httpx2.Response:
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    return httpx2.post(f"{address}/v1/batch", json=body, headers=headers, timeout=60, **words)


def batch(*statements: list[Any]) -> dict[str, Any]:
    return {"set": digest(), "batch": list(statements)}


@pytest.mark.parametrize("token", [None, "wrong", TOKEN + "x", TOKEN[:-1]])
def test_without_the_token_nothing_is_told(token: str | None, address: str) -> None:
    answers = [ask(address, batch(), token)]
    answers.append(httpx2.get(f"{address}/v1/health", headers={"authorization": f"Bearer {token}"}, timeout=60))
    for answer in answers:
        assert answer.status_code == 401
        assert answer.json() == {"code": "unauthorized", "message": "the token is not valid here"}


def test_two_tokens_are_valid_at_once(address: str, miniflare: Miniflare) -> None:
    miniflare.fault(address, every=1 << 40, env={"TOKEN": "new", "TOKEN_BEFORE": TOKEN})
    assert [ask(address, batch(), token).status_code for token in (TOKEN, "new", "other")] == [200, 200, 401]
    miniflare.fault(address, every=1 << 40, env={"TOKEN": "new"})
    assert [ask(address, batch(), token).status_code for token in (TOKEN, "new")] == [401, 200]


def test_a_worker_without_a_token_serves_nobody(address: str, miniflare: Miniflare) -> None:
    miniflare.fault(address, every=1 << 40, env={"TOKEN": ""})
    assert [ask(address, batch(), token).status_code for token in (None, "x", TOKEN)] == [503] * 3


def test_health(address: str) -> None:
    told = httpx2.get(f"{address}/v1/health", headers={"authorization": f"Bearer {TOKEN}"}, timeout=60).json()
    assert (told["version"], told["sets"], told["search"]) == (__version__, [digest()], True)


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"set": digest(), "batch": [["no_such_query", {}]]}, 400, "no_query"),
        ({"set": digest(), "batch": [["constructor", {}]]}, 400, "no_query"),
        ({"set": digest(), "batch": ["services"]}, 400, "bad_call"),
        ({"set": digest()}, 400, "bad_call"),
        ([], 400, "bad_call"),
        (None, 400, "bad_call"),
        ({"set": "another", "batch": []}, 409, "version"),
        ({"set": "constructor", "batch": []}, 409, "version"),
        (batch(["search", {}, None, "DELETE FROM workbell_runs"]), 400, "no_query"),
        (batch(["search", {}, None, "SELECT 1; DELETE FROM workbell_runs"]), 400, "no_query"),
        (batch(["search", {}, None, "WITH x AS (SELECT 1) DELETE FROM workbell_runs"]), 400, "no_query"),
        (batch(["search", {}, None, "SELECT nothing"]), 400, "refused"),
        (batch(["services", {}, None, 7]), 200, None),  # no text: the query of that name
    ],
)
def test_what_it_takes(body: Any, status: int, code: str | None, store: SqlStore, address: str) -> None:
    answer = ask(address, body)
    assert (answer.status_code, answer.json().get("code")) == (status, code)
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize("chunked", [False, True])
def test_a_call_that_is_too_large(chunked: bool, address: str) -> None:
    body = b"x" * (4 * 1024 * 1024 + 1)
    content = iter([body[:1000], body[1000:]]) if chunked else body
    headers = {"authorization": f"Bearer {TOKEN}"}
    answer = httpx2.post(f"{address}/v1/batch", content=content, headers=headers, timeout=60)
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")


@pytest.mark.parametrize(("method", "path"), [("GET", "/v1/batch"), ("POST", "/v1/health"), ("OPTIONS", "/v1/batch")])
def test_other_calls(method: str, path: str, address: str) -> None:
    headers = {"authorization": f"Bearer {TOKEN}"}
    answer = httpx2.request(method, address + path, headers=headers, timeout=60)
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


def test_searches_can_be_switched_off(store: SqlStore, address: str, miniflare: Miniflare) -> None:
    (run,) = add(store, request())
    miniflare.fault(address, every=1 << 40, env={"SEARCH": "off"})
    with pytest.raises(StoreError, match='set its variable SEARCH to "on"'):
        store.runs.list(Filter(None, limit=1))
    assert run.id in store.runs.find([run.id])
    assert [level for level, _, _ in store.describe()] == ["ok", "note"]


def test_a_wrong_token_is_told_with_the_remedy(address: str) -> None:
    store = open_d1(address, token="wrong")
    with pytest.raises(StoreUnavailable, match=r"refuses the token .* set WORKBELL_D1_TOKEN"):
        store.check()
    store.close()


def test_a_bridge_of_another_version(tmp_path: Path) -> None:
    """One that has our queries as those of the version before is right; one that has not says what to do."""
    folder = tmp_path / "bridge"
    write_bridge(folder)
    ours, other = query_set(), QuerySet("9.9.9", {"has_tables": SELECT})
    (folder / "queries.mjs").write_text(queries_module(other, None))
    for before, works in ((None, False), (ours, True)):
        (folder / "queries.mjs").write_text(queries_module(other, before))
        server = Miniflare(tmp_path, bridge=folder)
        store = open_d1(server.address())
        try:
            if works:
                store.check()
                assert store.describe()[0][0] == "ok"
            else:
                with pytest.raises(StoreUnavailable, match=r"of Workbell 9\.9\.9 .*`workbell bridge write DIR`"):
                    store.check()
                assert store.describe()[0][0] == "risk"
        finally:
            store.close()
            server.stop()


def test_guards_tell_which_and_how_many(store: SqlStore, address: str) -> None:
    told = ask(address, batch(["services", {}, 0], ["delete_trigger", {"id": "x", "expected": None}, 1])).json()
    assert told == {"code": "conflict", "message": "a guard said no", "at": 1, "found": 0}
    assert (
        "answers"
        in ask(address, batch(["services", {}, 0], ["delete_trigger", {"id": "x", "expected": None}, 0])).json()
    )


def test_a_refused_batch_writes_nothing(store: SqlStore) -> None:
    """Whatever the limit is that it exceeds."""
    note = Statement("note_service", {"name": "service/x", "value": "x"})
    with pytest.raises(StoreError, match="41 statements"):
        store.database.write([note] * 41)
    with pytest.raises(StoreError, match="a value of"):
        store.database.write([note, note._replace(values={"name": "service/y", "value": "x" * 1_000_001})])
    assert not store.services.list()


def test_a_connection_of_the_callers_is_refused(url: str) -> None:
    with Workbell(url) as bell:
        bell.job(name="work")(lambda: None)
        with pytest.raises(WrongConnection, match="leave connection= out"):
            bell.enqueue("work", connection=object())
        assert bell.runs() == []


@pytest.mark.parametrize(
    "command", ["doctor", "migrate", "migrate --dump-sql", "runs list", "copy --to sqlite:///copy.db"]
)
def test_commands_on_it(command: str, url: str, store: SqlStore, tmp_path: Path) -> None:
    if command != "doctor":  # which would find that nobody works on it
        add(store, request())
    answer = call(tmp_path, *command.split(), "--url", url, PYTHONPATH=str(SOURCE), WORKBELL_D1_TOKEN=TOKEN)
    assert (answer.code, answer.error) == (0, ""), answer
    if command == "doctor":
        said = " ".join(answer.out.split())
        assert f"a bridge of Workbell {__version__} that answers in" in said
        assert "nothing wakes workers, as the store's hints do not reach them; they poll every 1 s" in said


def test_a_command_without_a_token(url: str, tmp_path: Path) -> None:
    answer = call(tmp_path, "doctor", "--url", url, PYTHONPATH=str(SOURCE), WORKBELL_D1_TOKEN="")
    assert answer.code == 78
    assert "set WORKBELL_D1_TOKEN to the secret TOKEN of the bridge Worker" in " ".join(answer.error.split())


def test_the_command_writes_what_runs_here(tmp_path: Path) -> None:
    answer = call(tmp_path, "bridge", "write", "bridge", PYTHONPATH=str(SOURCE))
    assert (answer.code, answer.error) == (0, ""), answer
    checked = subprocess.run(["node", "--check", tmp_path / "bridge" / "worker.mjs"], env=os.environ, timeout=60)
    assert checked.returncode == 0


def test_values_keep_their_types(address: str) -> None:
    """An integer of JavaScript would be bound as a REAL, and lose digits."""
    text = "SELECT json_array(typeof(:n), :n, typeof(:t), typeof(:f), typeof(:x)) AS a"
    values = {"n": [str(2**63 - 1)], "t": "1", "f": 1.5, "x": None}
    told = msgspec.json.decode(ask(address, batch(["search", values, None, text])).content)
    assert told["answers"] == [[["integer", 2**63 - 1, "text", "real", "null"]]]

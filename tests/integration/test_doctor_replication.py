"""`workbell doctor` on replication: which of several hosts it is on, and what a failover would lose."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import command_line
from tests.support.inside.stores import open_store
from tests.support.postgres import PostgresServer
from tests.support.postgres_pair import Pair
from tests.support.waiting import until
from workbell import Workbell

DATABASE = "shop"


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    with Pair() as pair:
        pair.primary.create_database(name=DATABASE)
        with Workbell(pair.url(DATABASE)) as bell:
            bell.store.check()
        pair.await_replay()
        yield pair


def replication(url: str) -> list[tuple[str, str]]:
    store = open_store(url)
    try:
        return [(level, text) for level, what, text in store.describe() if what == "replication"]
    finally:
        store.close()


def configure(server: PostgresServer, names: str) -> None:
    server.execute(f"ALTER SYSTEM SET synchronous_standby_names = '{names}'")
    server.execute("SELECT pg_reload_conf()")
    until(lambda: server.ask("SHOW synchronous_standby_names") == [(names,)], "the setting")


def test_of_several_hosts_it_names_the_one_it_is_on(pair: Pair, tmp_path: Path) -> None:
    found = command_line.call(tmp_path, "doctor", WORKBELL_URL=pair.url(DATABASE), COLUMNS="300")
    assert found.code == 0, found
    assert f"/{DATABASE}, now on 127.0.0.1:{pair.primary.port}" in found.out
    alone = command_line.call(tmp_path, "doctor", WORKBELL_URL=pair.primary.url(DATABASE), COLUMNS="300")
    assert "now on" not in alone.out


def test_a_standby_alone_is_a_risk(pair: Pair, tmp_path: Path) -> None:
    found = command_line.call(tmp_path, "doctor", WORKBELL_URL=pair.standby.url(DATABASE), COLUMNS="300")
    assert found.code == 1, found
    assert "this server is a standby, which can only be read" in found.out


def test_what_a_failover_would_lose(pair: Pair) -> None:
    url = pair.url(DATABASE)
    assert replication(url) == [("ok", "asynchronous, 1 following: a failover can lose the last commits")]
    configure(pair.primary, "*")
    until(lambda: pair.primary.ask("SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'"), "the standby")
    assert replication(url) == [("ok", "synchronous (*): a failover loses nothing that was acknowledged")]
    local = f"{url}&options=-c%20synchronous_commit%3Dlocal"  # then nobody waits for a standby, whatever it is called
    assert replication(local) == [("ok", "asynchronous, 1 following: a failover can lose the last commits")]
    configure(pair.primary, "another")
    until(lambda: not pair.primary.ask("SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'"), "the standby")
    ((level, text),) = replication(url)
    assert level == "risk"
    assert text.startswith("synchronous (another), and no such standby follows: commits wait")
    configure(pair.primary, "")


def test_a_user_who_may_not_see_standbys_is_not_alarmed(pair: Pair) -> None:
    pair.primary.execute("CREATE ROLE plain LOGIN")
    configure(pair.primary, "*")
    plain = pair.url(DATABASE).replace("//workbell@", "//plain@")
    assert replication(plain) == [("ok", "synchronous (*): a failover loses nothing that was acknowledged")]
    configure(pair.primary, "")


def test_a_server_without_standbys_has_nothing_to_say(postgres_url: str) -> None:
    assert replication(postgres_url) == []

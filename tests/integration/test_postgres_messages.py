"""What is said when PostgreSQL does not do what it is asked: the thing, the reason, and the remedy that fits."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from tests.support.inside.stores import Calls, Connection, NotConnected, PostgresStore
from tests.support.inside.stores import postgres_calls as calls_module
from tests.support.postgres import free_port
from workbell import InvalidUrl, StoreError, StoreUnavailable


@pytest.fixture
def database(postgres_url: str) -> Iterator[Calls]:
    database = Calls(postgres_url)
    yield database
    database.close()


def ask(database: Calls, statement: str = "SELECT 1", *, transaction: bool = False) -> object:
    return database.run(lambda c: c.execute(statement).fetchone(), transaction=transaction)


def test_the_name_has_the_port(postgres_url: str) -> None:
    parts = urlsplit(postgres_url)
    assert Calls(postgres_url).name == f"127.0.0.1:{parts.port}{parts.path}"
    assert Calls("postgresql://box/app").name == "box:5432/app"
    assert Calls("postgresql://one:1,two:2/app").name == "one:1,two:2/app"
    assert Calls("postgresql://one,two:2/app").name == "one:5432,two:2/app"


def test_nobody_is_there() -> None:
    port = free_port()
    with pytest.raises(StoreUnavailable) as caught:
        ask(Calls(f"postgresql://workbell@127.0.0.1:{port}/app"))
    told = f"PostgreSQL at 127.0.0.1:{port}/app cannot be reached; check that it runs and that the URL is right (conn"
    assert str(caught.value).startswith(told)


def test_the_database_does_not_exist(postgres_url: str) -> None:
    with pytest.raises(StoreUnavailable, match=r'does not let us in .*database "nope" does not exist.* in the URL\.$'):
        ask(Calls(postgres_url.rsplit("/", 1)[0] + "/nope"))


def test_the_connection_is_lost(database: Calls) -> None:
    with pytest.raises(StoreUnavailable, match=r"starting, or has ended the connection .*repeat the call"):
        ask(database, "SELECT pg_terminate_backend(pg_backend_pid())")
    assert ask(database) == (1,)


def test_a_statement_takes_too_long(database: Calls, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls_module, "DEADLINE", 0.5)
    with pytest.raises(StoreUnavailable, match=r": a statement took too long, and was ended .*timeout.*repeat"):
        ask(database, "SELECT pg_sleep(5)", transaction=True)
    assert ask(database) == (1,)


def test_a_read_only_server(database: Calls, postgres_url: str) -> None:
    """Its connection is not used again: the next one may lead to the primary."""

    def write(connection: Connection) -> None:
        processes.append(connection.info.backend_pid)
        connection.execute("SET default_transaction_read_only = on")
        connection.execute("UPDATE workbell_meta SET value = value")

    processes: list[int] = []
    for _ in range(2):
        with pytest.raises(StoreUnavailable, match=r" is read-only \(cannot execute UPDATE .* connect to its primary"):
            database.run(write, transaction=False)
    assert len(set(processes)) == 2
    assert database.demotions == 2
    assert ask(database, "SHOW default_transaction_read_only") == ("off",)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (psycopg.errors.DiskFull, " is out of resources (text); free some."),
        (psycopg.errors.TooManyConnections, " has no connection left (FATAL: text); "),
        (psycopg.errors.CannotConnectNow, " is stopping or starting, or has ended the connection (text); repeat"),
        (psycopg.errors.IoError, ": text; repeat the call."),
        (psycopg.errors.DuplicatePreparedStatement, "a pooler"),
        (
            psycopg.errors.ConnectionFailure,
            ": the connection was lost (text); check that it runs",
        ),
    ],
)
def test_outages(error: type[psycopg.Error], told: str) -> None:
    text = {"53300": "FATAL: text", "42P05": 'prepared statement "_pg3_0" already exists'}.get(error.sqlstate, "text")
    translated = Calls("postgresql://box/app").translated(error(text))
    assert isinstance(translated, StoreUnavailable)
    assert told.lower() in str(translated).lower()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('FATAL: too many connections for role "app"', "has no connection left"),
        ("FATAL: no more connections allowed (max_client_conn)", "has no connection left"),
        ('FATAL: password authentication failed for user "app"', "check the user, the password"),
        ('FATAL: database "app" does not exist', "check the user, the password"),
        ("FATAL: query_wait_timeout", "has refused the connection (FATAL: query_wait_timeout); repeat the call"),
        (
            "FATAL: unsupported startup parameter: options",
            "has refused a parameter of the URL (FATAL: unsupported startup parameter: options); a pooler seems",
        ),
        ("connection refused", "cannot be reached; check that it runs"),
    ],
)
def test_why_no_connection_could_be_opened(text: str, told: str) -> None:
    assert told in str(Calls("postgresql://box/app").translated(NotConnected(text)))


def test_a_session_that_ended_behind_a_pooler() -> None:
    error = psycopg.InternalError("received 2 results from command 'COMMIT'")
    translated = Calls("postgresql://box/app").translated(error)
    assert isinstance(translated, StoreUnavailable)
    assert "the connection was lost (received 2 results" in str(translated)


@pytest.mark.parametrize(
    ("query", "said"),
    [("prepare_threshold=x", "is not a whole number"), ("pooler=statement", "write session or transaction")],
)
def test_wrong_words_of_ours_in_a_url(query: str, said: str) -> None:
    with pytest.raises(InvalidUrl, match=said):
        Calls(f"postgresql://box/app?{query}")


@pytest.mark.parametrize("error", [psycopg.errors.ProgramLimitExceeded, psycopg.errors.UniqueViolation])
def test_what_repeating_does_not_mend(error: type[psycopg.Error]) -> None:
    translated = Calls("postgresql://box/app").translated(error("text"))
    assert type(translated) is StoreError
    assert str(translated) == "box:5432/app: text."


def test_a_pooler_that_loses_prepared_statements(database: Calls) -> None:
    """Whoever has one that we do not recognise is told what to do."""
    for _ in range(4):
        assert database.run(lambda c: c.execute("SELECT %s::int", (1,)).fetchone(), transaction=False) == (1,)
    database.run(lambda c: c.pgconn.exec_(b"DEALLOCATE ALL"), transaction=False)
    with pytest.raises(StoreUnavailable, match=r"add `\?prepare_threshold=0` to the URL of the store"):
        database.run(lambda c: c.execute("SELECT %s::int", (1,)), transaction=False)
    for _ in range(4):  # and from then on nothing is prepared
        database.run(lambda c: c.execute("SELECT %s::int", (1,)), transaction=False)
    assert ask(database, "SELECT count(*) FROM pg_prepared_statements") == (0,)


def test_of_several_hosts_the_primary_is_meant() -> None:
    """After a failover the first of them may be a standby."""
    assert "target_session_attrs=read-write" in Calls("postgresql://one,two/app").conninfo
    assert "target_session_attrs=any" in Calls("postgresql://one,two/app?target_session_attrs=any").conninfo
    assert "target_session_attrs=read-write" in Calls("postgresql:///app?hostaddr=10.0.0.1,10.0.0.2").conninfo
    assert "target_session_attrs" not in Calls("postgresql://one/app").conninfo


def test_a_server_that_is_gone_without_a_word_is_noticed_within_a_minute() -> None:
    given = conninfo_to_dict(Calls("postgresql://one,two/app?keepalives_interval=5").conninfo)
    assert int(given["keepalives_idle"]) + 10 * int(given["keepalives_count"]) == 60
    assert given["keepalives_interval"] == "5", "the URL's own value counts"


def test_none_of_several_hosts_is_a_primary(empty_postgres_url: str) -> None:
    with psycopg.connect(empty_postgres_url, autocommit=True) as connection:
        connection.execute(f'ALTER DATABASE "{connection.info.dbname}" SET default_transaction_read_only = on')
    host = f"127.0.0.1:{urlsplit(empty_postgres_url).port}"
    told = r" has no primary among these hosts yet \(.*session is read-only\); promote a standby; workers wait"
    with pytest.raises(StoreUnavailable, match=told):
        ask(Calls(empty_postgres_url.replace(host, f"{host},{host}")))


@contextmanager
def pooler(url: str) -> Iterator[str]:
    """Something in between that, as poolers do, tells clients of a process that is not the server's; the URL of it."""
    there = (urlsplit(url).hostname, urlsplit(url).port)
    listening = socket.create_server(("127.0.0.1", 0))
    opened = [listening]

    def pass_on(source: socket.socket, target: socket.socket, *, answers: bool) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                at = data.find(b"K\x00\x00\x00\x0c") if answers else -1
                if at >= 0:  # BackendKeyData: process and secret
                    data = data[: at + 5] + struct.pack("!i", 7) + data[at + 9 :]
                    answers = False
                target.sendall(data)
        with suppress(OSError):
            target.shutdown(socket.SHUT_RDWR)

    def serve() -> None:
        with suppress(OSError):
            while True:
                client, _ = listening.accept()
                server = socket.create_connection(there)
                opened.extend([client, server])
                for source, target, answers in ((client, server, False), (server, client, True)):
                    threading.Thread(target=pass_on, args=(source, target), kwargs={"answers": answers}).start()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield url.replace(f":{there[1]}/", f":{listening.getsockname()[1]}/")
    finally:
        for line in opened:
            with suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)
            line.close()
        thread.join(10)


@pytest.mark.parametrize(("query", "prepared"), [("", False), ("?prepare_threshold=1", True)])
def test_behind_a_pooler_nothing_is_prepared_unless_asked_for(postgres_url: str, query: str, prepared: bool) -> None:
    """In transaction mode another client's statement of the same name would be executed."""
    with pooler(postgres_url) as url:
        store = PostgresStore(url + query)
        for _ in range(4):
            store.runs.find(["01a1e640-479e-700d-ab0a-78a0150e0172"])
        count = "SELECT count(*) > 0 FROM pg_prepared_statements"
        assert store.database.run_read(lambda s: s.text_rows(count, {})) == [(prepared,)]
        store.close()


def test_a_server_itself_prepares(database: Calls) -> None:
    for _ in range(4):
        database.run(lambda c: c.execute("SELECT %s::int", (1,)), transaction=False)
    assert ask(database, "SELECT count(*) FROM pg_prepared_statements") == (1,)


@pytest.mark.parametrize("password", ["can ary", 'can"ar y"', "can%zzary"])
def test_a_url_that_cannot_be_read_is_not_quoted(password: str) -> None:
    with pytest.raises(InvalidUrl, match=r"The store's URL cannot be read: .*; write it as postgresql://") as caught:
        Calls(f"postgresql://me:{password}@box/app")
    assert "can" not in str(caught.value).replace("cannot", "")
    assert caught.value.__cause__ is None

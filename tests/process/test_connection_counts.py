"""Connections of a fleet to PostgreSQL: few by default, idle and busy, and as many as are set (B2)."""

from __future__ import annotations

import threading
import urllib.request
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest

from tests.support.fleet import Fleet, Supervisor
from tests.support.postgres import free_port
from tests.support.waiting import until
from tests.support.worker_app import declare
from workbell import Workbell

RUNS = 600


def connections(url: str, pid: int) -> int:
    """How many a process has to the server."""
    port = urlsplit(url).port
    try:
        found = psutil.Process(pid).net_connections("tcp")
    except psutil.NoSuchProcess:
        return 0
    return sum(bool(one.raddr) and one.raddr.port == port and one.status == psutil.CONN_ESTABLISHED for one in found)


class Census:
    """The processes of supervisors by kind, and how many connections one of a kind has at the most."""

    def __init__(self, url: str, site: Fleet, supervisors: list[Supervisor]) -> None:
        self._url = url
        kinds = ("server", "worker", "keeper")
        self.pids = [(kind, pid) for kind in kinds for each in supervisors for pid in site.children_of(each, kind)]
        self.most: Counter[str] = Counter()

    def take(self) -> dict[str, int]:
        now: Counter[str] = Counter()
        for kind, pid in self.pids:
            now[kind] = max(now[kind], connections(self._url, pid))
        self.most |= now
        return dict(now)


@contextmanager
def fleet(tmp_path: Path, url: str, **settings: str) -> Iterator[tuple[Workbell, Census, str]]:
    """A server, and a worker beside it, as on two machines."""
    port = free_port()
    http = {"HTTP": "true", "HTTP_PORT": str(port), "HTTP_AUTH": "none"}
    with Fleet(tmp_path, url, **http, **settings) as site, Workbell(url) as bell:
        declare(bell, site.recorder, site.gates)
        bell.store.check()
        supervisors = [site.supervise("server"), site.supervise("worker", "--processes", "1")]
        for each, kind in zip(supervisors, ("server", "worker"), strict=True):
            site.await_workers(each, 1, kind)
            until(lambda each=each: len(site.children_of(each, "keeper")) == 1, "a keeper")
        census = Census(url, site, supervisors)
        until(lambda: census.take().get("keeper"), "the keepers to be connected")
        yield bell, census, f"http://127.0.0.1:{port}/api/v1/runs"


@contextmanager
def asking(url: str) -> Iterator[None]:
    """People who look at pages all the time."""
    end = threading.Event()

    def ask() -> None:
        while not end.is_set():
            with urllib.request.urlopen(url, timeout=30) as answer:
                assert answer.status == 200

    with ThreadPoolExecutor(6) as threads:
        asked = [threads.submit(ask) for _ in range(6)]
        try:
            yield
        finally:
            end.set()
        for one in asked:
            one.result()


def work(bell: Workbell, census: Census, page: str) -> None:
    """Some of everything, with a look at the connections all the while."""
    jobs = ("quick_async", "quick_plain", "short_plain", "fails_first")
    runs = bell.enqueue_many((jobs[number % len(jobs)], {"number": number}) for number in range(RUNS))
    bell.enqueue("held_plain", {"gate": "gate"})  # whose lease is renewed meanwhile
    wanted = {run.id for run in runs}

    def done() -> bool:
        census.take()
        return wanted <= {run.id for run in bell.runs(status="succeeded", limit=1000)}

    with asking(page):
        until(done, "all of them to be done", 60)


@pytest.mark.timeout(110)
def test_few_connections_idle_and_busy(tmp_path: Path, postgres_url: str) -> None:
    with fleet(tmp_path, postgres_url) as (bell, census, page):
        work(bell, census, page)
        assert census.most["server"] <= 5
        del census.most["server"]
        assert census.most == {"worker": 3, "keeper": 1}


@pytest.mark.timeout(110)
def test_as_many_as_are_set(tmp_path: Path, postgres_url: str) -> None:
    """Also fewer than by default: everything is done over one connection beside the one that listens."""
    with fleet(tmp_path, postgres_url, CONNECTIONS="2") as (bell, census, page):
        work(bell, census, page)
        assert dict(census.most) == {"server": 2, "worker": 2, "keeper": 1}

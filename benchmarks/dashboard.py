"""What the screens of the dashboard ask for, with a million finished runs and a hundred thousand waiting ones.

Every answer is to come within 300 ms on the server, at the 95th percentile. A private SQLite file and a private
PostgreSQL are filled (see dashboard_load.py), the real server serves them, and each request is timed over HTTP, one
after the other. On PostgreSQL also right after the load, when nothing has been analysed yet; on both also with
another tenant and a crowd of lanes beside.

FINISHED, WAITING, EVENTS and ROUNDS make it smaller, STORES="sqlite" leaves one out, ONLY="runs" asks only for what
has that in its address, SHOWN says how many of the slowest are shown.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import multiprocessing
import os
import socket
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import psutil  # noqa: E402
import psycopg  # noqa: E402
from dashboard_fill import fill, fill_beside  # noqa: E402
from dashboard_load import COMMON_TAG, CROWD, EMPTY_JOB, OLD_JOB, OLD_TAG, OTHER, Load  # noqa: E402

from tests.support.postgres import PostgresServer  # noqa: E402
from workbell import Workbell  # noqa: E402
from workbell.settings import Settings  # noqa: E402

FINISHED = int(os.environ.get("FINISHED", "1000000"))
WAITING = int(os.environ.get("WAITING", "100000"))
EVENTS = int(os.environ.get("EVENTS", "100000"))
ROUNDS = int(os.environ.get("ROUNDS", "30"))
STORES = os.environ.get("STORES", "sqlite postgres").split()
ONLY = os.environ.get("ONLY", "")
SHOWN = int(os.environ.get("SHOWN", "25"))
BUDGET = 300.0  # milliseconds
API = "/api/v1"

# The filters of the search screen; `next` is the page that a long scroll has come to. Each is listed and counted.
FILTERS = """
    status=scheduled status=queued status=running status=succeeded status=failed status=canceled
    status=scheduled&status=queued status=failed&status=canceled status=queued&status=failed
    job=mail.send job=report.build job=backup.make job={old_job} job={empty_job} job=no.such.job job={crowd}
    queue=mail queue=default queue=no-such-queue tag={common_tag} tag={old_tag} tag=customer:7 tag=no-such-tag
    schedule=schedule-007 user_id=7 user_id=0 user_id=999999 event={event} target=edge-1 target=nobody
    since={hour} since={week} until={week} since={week}&until={days} since={future}
    input.customer.id=42 input.to=user77@example.com input.nothing=1
    status=queued&job=mail.send status=queued&job={old_job} status=queued&job=backup.make status=scheduled&job=mail.send
    status=scheduled&job={old_job} status=running&job=mail.send status=succeeded&job=mail.send
    status=succeeded&job={old_job} status=failed&job=mail.send status=failed&job=backup.make status=failed&job={old_job}
    status=canceled&job=backup.make status=queued&queue=mail status=scheduled&queue=media status=failed&queue=mail
    status=succeeded&queue=default job=mail.send&since={week} job=mail.send&until={week} job={old_job}&since={week}
    job=backup.make&since={week}&until={days} status=queued&since={week} status=queued&until={week}
    status=failed&since={week}&until={days} status=queued&tag={common_tag} status=failed&tag={common_tag}
    job=mail.send&tag={common_tag} job=backup.make&tag={common_tag} queue=mail&user_id=7 job=mail.send&user_id=7
    status=queued&user_id=7 status=queued&input.customer.id=42 job=backup.make&input.customer.id=42
    status=failed&input.customer.id=42 status=failed&user_id=7 tag={common_tag}&input.customer.id=42
    schedule=schedule-007&status=failed schedule=schedule-007&status=queued target=edge-1&status=queued
""".split()
# Pages in the middle of history and of what waits, for these.
PAGED = """
    status=queued status=succeeded status=failed status=canceled job=mail.send job=backup.make job={old_job} queue=mail
    tag={common_tag} user_id=7 input.customer.id=42 status=queued&job=mail.send status=failed&job=backup.make
""".split()
# All else that a screen asks for. The list grows with the screens.
OTHERS = """
    /runs/{finished} /runs/{failed} /runs/{waiting} /runs/{running} /runs/{failed}/attempts /runs/{finished}/attempts
    /runs/{talker}/logs?limit=1000 /runs/{finished}/logs /runs/{waiting}/why /runs/{running}/why /runs/{failed}/why
    /runs/{old_waiting}/why /queues /pauses /workers /jobs /jobs/mail.send /schedules?limit=200 /schedules/schedule-007
    /schedules/schedule-007/ticks /schedules/schedule-007/preview?n=50 /events?limit=50 /events?type=shop.order.paid
    /events?type=shop.*.paid /events?type=no.such.type /events?type=no.such.* /events?before={event} /events/{event}
    /events/{event}/matches /webhooks /webhooks/{endpoint} /webhooks/{endpoint}/deliveries?limit=50
    /webhooks/{endpoint}/deliveries?limit=50&status=failed /webhooks/{endpoint}/deliveries?limit=50&status=canceled
    /webhooks/{endpoint}/deliveries?limit=50&status=queued /webhooks/{endpoint}/deliveries?limit=50&status=running
    /webhooks/{endpoint}/deliveries?limit=50&status=succeeded&before={middle} /triggers /agents /tokens /tenants
    /notifications /audit /audit?before={middle} /tokens/self /doctor /recent /recent?job=mail.send /upcoming
    /tallies?minutes=60 /tallies?minutes=1440 /tallies?minutes=10080 /tallies?minutes=10080&job=mail.send
""".split()


def requests_of(facts: dict[str, str]) -> list[str]:
    """Every request, with names and ids in their places."""
    asked = ["/runs?limit=50", "/runs/count", "/runs?limit=50&before={middle}", "/runs?limit=50&before={waiting}"]
    for each in FILTERS:
        asked += [f"/runs?limit=50&{each}", f"/runs/count?{each}"]
    asked += [f"/runs?limit=50&{each}&before={{{place}}}" for each in PAGED for place in ("middle", "waiting")]
    return [path.format(**facts) for path in (*asked, *OTHERS) if ONLY in path]


def facts_of(load: Load, bell: Workbell) -> dict[str, str]:
    """What can be asked for, as the load has it."""
    now = datetime.fromtimestamp(load.now, UTC)
    ago = {"hour": timedelta(hours=1), "days": timedelta(days=5), "week": timedelta(days=7), "future": -timedelta(1)}
    one = lambda **words: bell.runs(limit=1, **words)[0].id  # noqa: E731
    return {
        "old_job": OLD_JOB,
        "empty_job": EMPTY_JOB,
        "crowd": CROWD,
        "common_tag": COMMON_TAG,
        "old_tag": OLD_TAG,
        "event": load.event_id(EVENTS // 2),
        "endpoint": load.endpoints[0],
        "middle": load.run_id(FINISHED // 2),
        "talker": load.run_id(FINISHED // 2),
        "finished": load.run_id(FINISHED - 10),
        "failed": one(status="failed", job="mail.send"),
        "running": one(status="running"),
        "waiting": one(status="queued", job="mail.send", until=now - timedelta(hours=3)),
        "old_waiting": one(status="queued", job=OLD_JOB),
        **{name: quote((now - span).isoformat()) for name, span in ago.items()},
    }


# Serving and asking


def serve(port: int, url: str) -> None:
    from workbell.engine.role import Role
    from workbell.http.binding import bind

    bell = Workbell(settings=Settings(url=url, http_port=port, http_log="problems"))
    asyncio.run(bell.host.serve(Role(schedules=True, works=False), http=bind(bell.settings)))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Asker:
    """A browser's one connection."""

    def __init__(self, port: int, token: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        self._headers = {"Authorization": f"Bearer {token}"}

    def ask(self, path: str) -> tuple[float, int, bytes]:
        """Milliseconds, the status and the body."""
        began = time.perf_counter()
        self._connection.request("GET", API + path, headers=self._headers)
        answer = self._connection.getresponse()
        body = answer.read()
        return (time.perf_counter() - began) * 1000, answer.status, body

    def wait(self) -> None:
        for _ in range(400):
            try:
                self.ask("/tokens/self")
                return
            except OSError:
                self._connection.close()
                time.sleep(0.05)
        raise SystemExit("the server does not answer")


def busy(pids: Iterable[int]) -> float:
    """Seconds that these processes and their children have computed so far."""
    seconds = 0.0
    for pid in pids:
        for process in (psutil.Process(pid), *psutil.Process(pid).children(recursive=True)):
            with contextlib.suppress(psutil.NoSuchProcess):
                seconds += sum(process.cpu_times()[:2])
    return seconds


def measure(what: str, url: str, token: str, paths: Sequence[str], database: Sequence[int] = ()) -> None:
    """Time each request, and show the slowest first; what was computed for it says more where a machine is shared."""
    port = free_port()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=[port, url])
    server.start()
    assert server.pid is not None
    found: list[tuple[float, float, float, float, str, str]] = []
    try:
        asker = Asker(port, token)
        asker.wait()
        for path in paths:
            asker.ask(path)
            began = busy([server.pid, *database])
            answers = [asker.ask(path) for _ in range(ROUNDS)]
            computed = (busy([server.pid, *database]) - began) / ROUNDS * 1000
            times = sorted(answer[0] for answer in answers)
            at = lambda share, times=times: times[min(int(len(times) * share), len(times) - 1)]  # noqa: E731
            found.append((at(0.95), at(0.5), times[-1], computed, path, _shown(*answers[-1][1:])))
    finally:
        server.kill()
        server.join()
    late = sum(each[0] > BUDGET for each in found)
    for *_, path, shown in found:
        if shown.startswith("!!"):
            print(f"refused: {path} {shown}")
    dear = sum(each[3] > BUDGET for each in found)
    print(f"\n{what}: {len(found)} requests, {late} over {BUDGET:.0f} ms, {dear} computed for longer than that")
    print("     p95      p50      max computed  ms")
    for p95, p50, most, computed, path, shown in sorted(found, reverse=True)[:SHOWN]:
        print(f"{p95:8.1f} {p50:8.1f} {most:8.1f} {computed:8.1f}  {path}  {shown}", flush=True)


def _shown(status: int, body: bytes) -> str:
    if status != 200:
        return f"!! {status} {body[:200]!r}"
    told: Any = json.loads(body)
    if isinstance(told, dict) and isinstance(told.get("items"), list):
        return f"[{len(told['items'])}{' …' if told.get('next') else ''}]"
    return f"[{told['count']}{' +' if told['capped'] else ''}]" if "capped" in told else ""


def measure_store(name: str, url: str, *database: int) -> None:
    load = Load(FINISHED, WAITING, EVENTS)
    began = time.perf_counter()
    with Workbell(settings=Settings(url=url)) as bell:
        fill(load, bell.store, url)
        print(f"{name}: filled in {time.perf_counter() - began:.0f} s", flush=True)
        token = bell.tokens.create(scopes=["admin", "read"], user_id=7, tenant="*").text
        facts = facts_of(load, bell)
        paths = requests_of(facts)
        if name == "PostgreSQL":
            measure(f"{name}, nothing analysed yet", url, token, paths, database)
            analyse(url)
        measure(f"{name}, one tenant", url, token, paths, database)
        fill_beside(load, bell.store, url)
        measure(f"{name}, with a crowd of lanes and another tenant, not analysed since", url, token, paths, database)
        # It has no schedules.
        others = [path for path in paths if path.startswith(("/runs?", "/runs/count")) and "schedule=" not in path]
        other = bell.tokens.create(scopes=["read"], tenant=OTHER).text
        measure(f"{name}, as the other tenant, which has done little", url, other, others, database)


def analyse(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")


def main() -> None:
    if "sqlite" in STORES:
        with tempfile.TemporaryDirectory() as folder:
            measure_store("SQLite", f"sqlite:///{Path(folder) / 'bench.db'}")
    if "postgres" in STORES:
        server = PostgresServer().start()
        try:
            url = server.create_database()
            with psycopg.connect(url, autocommit=True) as connection:
                # What is measured before is not to be analysed meanwhile.
                connection.execute("ALTER SYSTEM SET autovacuum = off")
                connection.execute("SELECT pg_reload_conf()")
            measure_store("PostgreSQL", url, server.pid)
        finally:
            server.remove()


if __name__ == "__main__":
    main()

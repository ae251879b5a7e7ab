"""The rows of a store after a busy fortnight: what `dashboard.py` asks questions about.

They are what the verbs would have left: every run has its lane, every minute its tallies, and nothing is due while it
is being looked at. The same ones each time; times are seconds since 1970.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import Any

from workbell.events.fan_out import delivery_lane
from workbell.model.agent import Agent
from workbell.model.endpoint import Endpoint
from workbell.model.job import DELIVERY, Job
from workbell.model.run import Lane
from workbell.model.schedule import Schedule, ScheduleKind
from workbell.stores.access.audit import AUDIT
from workbell.stores.event_rows import EVENT, MATCH
from workbell.stores.rows import HISTORY, LIVE, TICK
from workbell.stores.store_page import StorePage

TENANT, OTHER = "default", "other"
SPAN = 14 * 86_400  # seconds in which all of it happened
BACKLOG = 6 * 3600  # and those in which nearly all was asked for that still waits
# Jobs, their queues, and their shares of a thousand runs.
JOBS = {
    "mail.send": ("mail", 520),
    "image.resize": ("media", 160),
    DELIVERY: ("webhooks", 100),
    "report.build": ("default", 70),
    "search.index": ("default", 60),
    "customer.sync": ("default", 40),
    "invoice.pay": ("mail", 25),
    "video.cut": ("media", 12),
    "cache.warm": ("default", 8),
    "backup.make": ("default", 4),
    "edge.measure": ("default", 1),
}
DRAWN = [job for job, (_, share) in JOBS.items() for _ in range(share)]
OLD_JOB = "old.import"  # its runs, finished and waiting ones, are older than nearly all others
EMPTY_JOB = "never.ran"  # has a lane, and no run
CROWD = "shop.sync"  # has a lane for each of many shops
OLD, SHOPS = 2000, 3000
SCHEDULES, ENDPOINTS, WORKERS, TICKS, AUDITED = 200, 4, 8, 500, 20_000
RUNNING = WORKERS * 10
USERS, CUSTOMERS = 5000, 2000
COMMON_TAG, OLD_TAG = "newsletter", "migration"

Row = Sequence[Any]


def id_at(seconds: float, number: int) -> str:
    """An id of that moment; the number tells it from others of the same."""
    text = f"{int(seconds * 1000):012x}"
    return f"{text[:8]}-{text[8:]}-7{number >> 24 & 0xFFF:03x}-8000-{number & 0xFFFFFF:012x}"


class Load:
    """So many finished runs, waiting ones and events, and what belongs to them."""

    def __init__(self, finished: int, waiting: int, events: int) -> None:
        self.finished, self.waiting, self.events = finished, waiting, events
        self.now = datetime.now(UTC).timestamp() - 60
        self.begin = self.now - SPAN
        self.schedules = [id_at(self.begin, 10_000_000 + n) for n in range(SCHEDULES)]
        self.endpoints = [id_at(self.begin, 11_000_000 + n) for n in range(ENDPOINTS)]
        self.workers = [f"host{n}:{1000 + n}:{n:08x}" for n in range(WORKERS)]
        self.random = random.Random(7)
        self.tallies: dict[Row, list[float]] = {}
        self.lanes: dict[str, list[Lane]] = {job: [Lane(TENANT, queue, job)] for job, (queue, _) in JOBS.items()}
        queue = JOBS[DELIVERY][0]
        self.lanes[DELIVERY] = [Lane(TENANT, queue, DELIVERY, None, endpoint) for endpoint in self.endpoints]
        self.lanes["edge.measure"] = [Lane(TENANT, "default", "edge.measure", "edge-1")]
        self.lanes |= {job: [Lane(TENANT, "default", job)] for job in (OLD_JOB, EMPTY_JOB)}

    # Moments and ids, by number

    def at(self, number: int) -> float:
        return self.begin + SPAN * number / self.finished

    def run_id(self, number: int) -> str:
        return id_at(self.at(number), number)

    def event_id(self, number: int) -> str:
        return id_at(self.begin + SPAN * number / self.events, 12_000_000 + number)

    # Runs

    def _parts(self, number: int, created: float, lane: Lane) -> dict[str, Any]:
        """What a run has whether or not it has ended."""
        draw = self.random.random
        chance = draw()
        tag = COMMON_TAG if chance < 0.2 else f"customer:{int(draw() * CUSTOMERS)}" if chance < 0.25 else None
        own = lane.tenant == TENANT
        scheduled = own and lane.job != DELIVERY and draw() < 0.1
        by_event = own and (lane.job == DELIVERY or (not scheduled and draw() < 0.05))
        asked = {"customer": {"id": int(draw() * 50_000)}, "to": f"user{number}@example.com", "n": number}
        return {
            "id": id_at(created, number),
            "lane": lane.id,
            "rank": 0 if draw() < 0.95 else -10,
            "created_at": created,
            "scheduled_for": created,
            "losses": 0,
            "crashes": 0,
            "input": json.dumps(asked),
            "tag": OLD_TAG if lane.job == OLD_JOB else tag,
            "user_id": int(draw() * USERS) if draw() < 0.3 else 0,
            "schedule": self.schedules[int(draw() * SCHEDULES)] if scheduled else None,
            "event": self.event_id(int(draw() * self.events)) if by_event else None,
        }

    def _lane(self, job: str | None = None) -> Lane:
        lanes = self.lanes[job or DRAWN[int(self.random.random() * len(DRAWN))]]
        return lanes[int(self.random.random() * len(lanes))]

    def _finished(self, number: int, created: float, lane: Lane) -> Row:
        """One in thirty has failed, a few were canceled."""
        chance = self.random.random()
        status = "failed" if chance < 0.03 else "canceled" if chance < 0.032 else "succeeded"
        failed, attempt = status == "failed", 4 if status == "failed" else 1
        started = created + self.random.random() * 3
        ended = started + self.random.random() * 5
        self._tally(ended, lane, status, ended - started, started - created)
        parts = self._parts(number, created, lane) | {
            "status": status,
            "updated_at": ended,
            "attempt": attempt,
            "failures": attempt if failed else 0,
            "token": attempt,
            "worker": self.workers[number % WORKERS],
            "started_at": started,
            "error": "RuntimeError: the other side did not answer" if failed else None,
            "reason": "attempts_used_up" if failed else None,
            "finished_at": ended,
            "result": '{"ok":true}' if status == "succeeded" else None,
            "remove_at": self.now + 30 * 86_400,
        }
        return [parts.get(name) for name in HISTORY]

    def _tally(self, ended: float, lane: Lane, status: str, seconds: float, wait: float) -> None:
        for minute in (ended // 60 * 60, 0):
            place = (minute, lane.tenant, lane.queue, lane.job, status)
            sums = self.tallies.setdefault(place, [0, 0.0, 0.0])
            for which, more in enumerate((1, seconds, wait)):
                sums[which] += more

    def _live(self, number: int, created: float, lane: Lane, *, held: bool = False) -> Row:
        """One in seven waits for its time, and a third of those has failed before."""
        chance = self.random.random()
        later, again = not held and chance < 0.15, not held and chance < 0.05
        parts = self._parts(number, created, lane) | {
            "status": "running" if held else "scheduled" if later else "queued",
            "updated_at": created,
            "attempt": 1 if held or again else 0,
            "failures": 1 if again else 0,
            "alone": False,
            "token": 1 if held or again else 0,
            "lease_until": self.now + 86_400 if held else None,
            "worker": self.workers[number % WORKERS] if held else None,
            "cancel_requested": False,
            "started_at": self.now if held else None,
            "error": "TimeoutError: too slow" if again else None,
            "suspect": False,
        }
        if later:
            parts["scheduled_for"] = self.now + 86_400 * (1 + chance)
        return [parts.get(name) for name in LIVE]

    def history(self) -> Iterator[Row]:
        early = self.finished // 20
        for number in range(self.finished):
            old = number < early and number % max(early // OLD, 1) == 0
            yield self._finished(number, self.at(number), self._lane(OLD_JOB if old else None))

    def live(self) -> Iterator[Row]:
        count = self.waiting + RUNNING
        for number in range(count):
            old = number < OLD // 10
            created = self.begin + 1000 + number if old else self.now - BACKLOG * (1 - number / count)
            lane = self._lane(OLD_JOB if old else None)
            yield self._live(2_000_000 + number, created, lane, held=number >= self.waiting)

    def beside(self) -> tuple[list[Lane], Iterator[Row], Iterator[Row]]:
        """Lanes, finished and waiting runs: of another tenant, and of a job with very many lanes."""
        few = Lane(OTHER, "mail", "mail.send")
        crowd = [Lane(TENANT, "default", CROWD, None, f"shop:{n}") for n in range(SHOPS)]
        finished = [*crowd, *crowd, *crowd, *[few] * 120]
        waiting = [*crowd, *[few] * 120]
        self.random.shuffle(finished)
        self.random.shuffle(waiting)
        ended = (self._finished(3_000_000 + n, self.at(n * 97 % self.finished), x) for n, x in enumerate(finished))
        live = (self._live(4_000_000 + n, self.now - BACKLOG + n, x) for n, x in enumerate(waiting))
        return [few, *crowd], ended, live

    # What belongs to them

    def attempts(self) -> Iterator[Row]:
        """Three tries of some runs before their last."""
        for number in range(0, self.finished, 30):
            at = self.at(number)
            for place in (1, 2, 3):
                yield self.run_id(number), place, "failed", at, at + 1, self.workers[0], "RuntimeError: no answer"

    def logs(self) -> Iterator[Row]:
        """The newest runs said something; the one in the middle would not stop."""
        newest = range(max(self.finished - 2000, 0), self.finished)
        for number, lines in chain(((n, 20) for n in newest), [(self.finished // 2, 5000)]):
            for line in range(lines):
                yield self.run_id(number), 1, line, self.at(number), "info", f"line {line} of what happened"

    def told(self) -> Iterator[Row]:
        for number in range(self.events):
            at = self.begin + SPAN * number / self.events
            kind = f"shop.order.{('paid', 'sent', 'returned')[number % 3]}"
            parts = {"id": self.event_id(number), "tenant": TENANT, "type": kind, "source": "/shop", "time": at}
            parts |= {"created_at": at, "data": f'{{"order":{number}}}', "system": False, "depth": 0}
            yield [(parts | {"fanned_out_at": at + 1}).get(name) for name in EVENT]

    def matches(self) -> Iterator[Row]:
        for number in range(self.events):
            parts = {"event": self.event_id(number), "subscriber": self.endpoints[number % ENDPOINTS]}
            parts |= {"outcome": "started", "created_at": self.now, "run": self.run_id(number % self.finished)}
            yield [parts.get(name) for name in MATCH]

    def ticks(self) -> Iterator[Row]:
        for place, schedule in enumerate(self.schedules):
            for number in range(TICKS):
                due = int(self.now) - (number + 1) * 3600 - place
                parts = {"schedule": schedule, "due": due, "count": 1, "outcome": "fired", "created_at": due}
                yield [parts.get(name) for name in TICK]

    def audit(self) -> Iterator[Row]:
        for number in range(AUDITED):
            at = self.begin + SPAN * number / AUDITED
            parts = {"id": id_at(at, number), "tenant": TENANT, "at": at, "actor": "token", "action": "runs.cancel"}
            yield [(parts | {"subject": id_at(at, number), "address": "127.0.0.1"}).get(name) for name in AUDIT]

    def added_up(self) -> Iterator[Row]:
        for place, (count, seconds, wait) in self.tallies.items():
            yield [*place, int(count), seconds, wait, json.dumps([0, 0, 0, 0, 0, int(count)])]

    def definitions(self) -> StorePage:
        """What there is little of."""
        now = datetime.fromtimestamp(self.now, UTC)
        made: Any = {"created_at": now, "updated_at": now}
        month = now + timedelta(days=30)
        jobs = [
            Job(id=id_at(self.begin, 13_000_000 + n), name=job, handler=job, queue=lanes[0].queue, **made)
            for n, (job, lanes) in enumerate(self.lanes.items())
            if job != DELIVERY
        ]
        rule: Any = {"kind": ScheduleKind.CRON, "expression": "0 4 1 1 *", "timezone": "Europe/Berlin", **made}
        stands: Any = {"look_at": month, "next_run_at": month, "last_run_status": "success", "last_run_ended_at": now}
        schedules = [
            Schedule(id=each, name=f"schedule-{n:03d}", job="report.build", **rule, **stands)
            for n, each in enumerate(self.schedules)
        ]
        endpoints = [
            Endpoint(id=each, url=f"https://example.com/{n}", patterns=("shop.**",), **made)
            for n, each in enumerate(self.endpoints)
        ]
        assert delivery_lane(endpoints[0]) == self.lanes[DELIVERY][0]
        agents = [Agent(id=id_at(self.begin, 14_000_000), name="edge-1", created_at=now, seen_at=now)]
        lanes = [lane for lanes in self.lanes.values() for lane in lanes]
        return StorePage(lanes=lanes, jobs=jobs, schedules=schedules, endpoints=endpoints, agents=agents)

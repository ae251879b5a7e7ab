"""Topics of live views: how each is read for a tenant and a filter, encoded once for all viewers; and what changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import accumulate, islice
from typing import Any, NamedTuple

import msgspec

from workbell.client.local import LocalClient
from workbell.errors import InvalidOption, RunNotFound
from workbell.http.features.job_list import jobs_of, reloads_of
from workbell.http.framework.bounded_pages import MOST_BYTES, BoundedPage, PageSource, by_id, read_page
from workbell.http.sockets.frames import CHUNK, SAME, Subscribe, Topic, body, encode
from workbell.job_files.job_folder import JobFolder
from workbell.model.event import Event
from workbell.model.log_line import LogLine
from workbell.model.patterns import PatternIndex, check_pattern, is_literal
from workbell.model.run_filter import WORDS
from workbell.runs.lookup import found_runs
from workbell.scheduling.words import schedule_in_words
from workbell.wire.events import EventShown
from workbell.wire.run_filter import filter_words
from workbell.wire.schedules import ScheduleShown


class ViewSnapshot:
    """Encoded items by their ids, encoded log lines by attempt and line, and the cursor of what comes behind them.

    Never changed once it is made.
    """

    __slots__ = ("items", "logs", "next")

    def __init__(
        self, items: Mapping[str, str], logs: Mapping[tuple[int, int], str] | None = None, following: str | None = None
    ) -> None:
        self.items = items
        self.logs = logs or {}
        self.next = following

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, ViewSnapshot)
            and self.items == other.items
            and self.logs == other.logs
            and self.next == other.next
        )

    __hash__ = object.__hash__


NOTHING = ViewSnapshot({})  # what a new subscriber has


def way(before: ViewSnapshot, now: ViewSnapshot) -> list[str]:
    """Bodies of the `changes` frames from one snapshot to another; for a new subscriber there is always one."""
    removed = [name for name in before.items if name not in now.items]
    items = [text for name, text in now.items.items() if before.items.get(name) != text]
    logs = [text for index, text in now.logs.items() if index not in before.logs]
    if not (removed or items or logs or before.next != now.next or before is NOTHING):
        return []
    following = SAME if before.next == now.next else now.next
    parts = list(_chunks(items)) or [[]]
    lines = list(_chunks(logs))
    bodies = [body(part, removed if index == 0 else None) for index, part in enumerate(parts[:-1])]
    last = body(parts[-1], removed if len(parts) == 1 else None, lines[0] if lines else None, following)
    return [*bodies, last, *(body([], None, part) for part in lines[1:])]


def _chunks(texts: list[str]) -> Iterator[list[str]]:
    """Texts in chunks of up to CHUNK characters, one a frame."""
    part: list[str] = []
    letters = 0
    for text in texts:
        if part and letters + len(text) > CHUNK:
            yield part
            part, letters = [], 0
        part.append(text)
        letters += len(text)
    if part:
        yield part


_sorted = msgspec.json.Encoder(order="deterministic")

NEVER = datetime.min.replace(tzinfo=UTC)
LINES = 1000  # of a run's log, the newest
PAGE = 1000
EVENTS = 100

FILTERS = {
    Topic.RUNS: frozenset(WORDS),
    Topic.RUN: frozenset({"run"}),
    Topic.JOBS: frozenset[str](),
    Topic.SCHEDULES: frozenset[str](),
    Topic.EVENTS: frozenset({"pattern"}),
    Topic.RELOADS: frozenset[str](),
    Topic.NOTIFICATIONS: frozenset[str](),
}


class ViewSource(NamedTuple):
    """Source of a view: the verbs of a tenant, and the jobs of this program."""

    client: LocalClient
    jobs: JobFolder
    own: str  # the tenant of the program


Read = Callable[[ViewSource, Subscribe, ViewSnapshot], ViewSnapshot]


def filter_of(asked: Subscribe) -> tuple[Any, ...]:
    """Filter of a subscription, the key of its view; a field that the topic does not have is refused."""
    for word in ("run", "pattern", *WORDS):
        if getattr(asked, word) is not None and word not in FILTERS[asked.topic]:
            known = ", ".join(sorted(FILTERS[asked.topic])) or "no filter"
            raise InvalidOption(f"{word}: the topic {asked.topic} does not know it; it knows {known}.")
    if asked.topic is Topic.RUN and asked.run is None:
        raise InvalidOption("run: the topic run needs the id of a run.")
    if asked.topic is not Topic.RUNS:
        return (asked.run, asked.pattern)
    words = filter_words(asked)
    if not isinstance(asked.status, str | None):
        words["status"] = sorted(set(asked.status))
    # As text: in a tuple, 1 and true would be the same.
    return (_sorted.encode(words), asked.limit)


def read_runs(source: ViewSource, asked: Subscribe, _before: ViewSnapshot) -> ViewSnapshot:
    found = source.client.page_of_runs(limit=asked.limit, **filter_words(asked))
    return ViewSnapshot(
        {run.id: encode(run) for run in found_runs(source.client.runtime, found.runs)}, None, found.next
    )


def read_run(source: ViewSource, asked: Subscribe, before: ViewSnapshot) -> ViewSnapshot:
    """A run with its progress, and the lines that it has logged since; it may be removed meanwhile."""
    assert asked.run is not None
    client = source.client
    try:
        run = client.get(asked.run)
        logs = dict(before.logs)
        after = _last_of(asked.run, logs)
        while page := client.logs(run.id, after=after, limit=PAGE):
            logs |= {(line.attempt, line.line): encode(line) for line in page}
            after = page[-1]
            if len(page) < PAGE:
                break
    except RunNotFound:
        if before is NOTHING:
            raise
        return ViewSnapshot({})
    return ViewSnapshot({run.id: encode(found_runs(client.runtime, [run])[0])}, dict(list(logs.items())[-LINES:]))


def read_jobs(source: ViewSource, _asked: Subscribe, _before: ViewSnapshot) -> ViewSnapshot:
    return ViewSnapshot({job.name: encode(job) for job in jobs_of(*source)})


def read_schedules(source: ViewSource, _asked: Subscribe, _before: ViewSnapshot) -> ViewSnapshot:
    found = []
    after = ""
    while page := source.client.schedules.list(after=after, limit=PAGE):
        found += page
        after = page[-1].name
        if len(page) < PAGE:
            break
    return ViewSnapshot({one.name: encode(ScheduleShown.of(one, schedule_in_words(one))) for one in found})


def read_events(source: ViewSource, asked: Subscribe, before: ViewSnapshot) -> ViewSnapshot:
    """The newest events. A pattern has no index: all events are read once, and from then on the newest ones; older ones
    were seen before."""
    pattern = asked.pattern
    if pattern is None or is_literal(check_pattern(pattern)) or before is NOTHING:
        page = _page_of_events(source, pattern, None, EVENTS)
        items = {event.id: text.decode() for event, text in page.found}
        return ViewSnapshot(items, None, None if page.last is None else page.last.id)
    wanted, found = PatternIndex([(pattern, True)]), dict[str, str]()
    position, count = None, 0
    while True:
        page = _page_of_events(source, None, position, PAGE - count)
        matching = [(one, text) for one, text in page.found if wanted.match(one.type, system=one.system)]
        found |= {event.id: text.decode() for event, text in matching}
        count += len(page.found)
        if page.last is None:
            return _newest(found)
        position = page.last.id
        if count >= PAGE:
            return _newest(found | {one: text for one, text in before.items.items() if one < position})


def _page_of_events(source: ViewSource, wanted: str | None, before: str | None, limit: int) -> BoundedPage[Event]:
    events = source.client.events
    rows: PageSource[Event, str] = PageSource(
        lambda cursor, number: events.list(type=wanted, before=cursor, limit=number), by_id, EventShown.of
    )
    return read_page(rows, before, limit)


def _newest(found: dict[str, str]) -> ViewSnapshot:
    """The first of these events, as many as there may be in number and size."""
    sizes = accumulate(len(text) for text in found.values())
    few = sum(index == 0 or size <= MOST_BYTES for index, size in enumerate(islice(sizes, EVENTS)))
    items = dict(islice(found.items(), few))
    return ViewSnapshot(items, None, next(reversed(items)) if len(found) > few or few == EVENTS else None)


def read_reloads(source: ViewSource, _asked: Subscribe, _before: ViewSnapshot) -> ViewSnapshot:
    return ViewSnapshot({entry.id: encode(entry) for entry in reloads_of(source.client, source.jobs, source.own)})


READ: dict[Topic, Read] = {
    Topic.RUNS: read_runs,
    Topic.RUN: read_run,
    Topic.JOBS: read_jobs,
    Topic.SCHEDULES: read_schedules,
    Topic.EVENTS: read_events,
    Topic.RELOADS: read_reloads,
}


def _last_of(run_id: str, logs: dict[tuple[int, int], str]) -> LogLine | None:
    """Cursor of the last log line; new lines come after it."""
    if not logs:
        return None
    attempt, line = next(reversed(logs))
    return LogLine(run_id, attempt, line, NEVER, "", "")

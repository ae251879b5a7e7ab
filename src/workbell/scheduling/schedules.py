"""The verbs about schedules: put, update, get, list, upcoming, preview, try_out, ticks, pause, resume, run, delete.

Sync, and async with an `a`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from math import inf
from typing import Any, NamedTuple, Unpack, cast

from workbell.errors import EndpointRefused, InvalidInput, InvalidOption, JobsError, ScheduleNotFound, StoreError
from workbell.handlers.alert_urls import sealed_url
from workbell.handlers.job_function import JobFunction
from workbell.model.alert import URLS
from workbell.model.clock import aware
from workbell.model.retry import with_whole_policy
from workbell.model.run import Run
from workbell.model.run_defaults import NO_DEFAULTS, RunDefaults
from workbell.model.schedule import Schedule, ScheduleChange, ScheduleKind, Tick
from workbell.model.upcoming_ticks import TriedTiming, UpcomingTick, UpcomingTicks
from workbell.process.identity import timezone_name
from workbell.runs.enqueuing import Enqueuing, resolve
from workbell.runs.runtime import Runtime, in_thread
from workbell.scheduling import control as steer
from workbell.scheduling.change import changed, check_changeable
from workbell.scheduling.decide import stretch_outside
from workbell.scheduling.declare import check_words, declare
from workbell.scheduling.find import find_schedule, schedules_named
from workbell.scheduling.preview import tried_timing, upcoming_ticks
from workbell.scheduling.request import enqueue_options
from workbell.scheduling.rule import first_runs, rule_of
from workbell.scheduling.settings import ScheduleChanges, ScheduleSettings, TickSettings
from workbell.scheduling.words import schedule_in_words
from workbell.stores.measuring import measure_old_time
from workbell.timing import Once
from workbell.timing.zones import resolve_timezone
from workbell.trust.sealing import Sealer

PAGE = 1000
MOST_UPCOMING = 100
MOST_TRIED = 100
TRIES = 20
LAST = datetime(9999, 12, 31, tzinfo=UTC)

Steer = Callable[[Schedule, datetime], ScheduleChange | None]


class Declaration(NamedTuple):
    """Declaration of a schedule: its name, job and settings."""

    name: str
    job: str | JobFunction[Any, Any]
    settings: ScheduleSettings | TickSettings


class Meant(NamedTuple):
    """The job of a schedule: its name, the arguments of its runs as JSON, and what it says about its runs."""

    job: str
    input: str | None
    defaults: RunDefaults


class Schedules:
    """The schedules of a tenant: `bell.schedules`."""

    def __init__(self, runtime: Runtime, enqueuing: Enqueuing) -> None:
        self._runtime = runtime
        self._enqueuing = enqueuing

    def put(self, name: str, *, job: str | JobFunction[Any, Any], **settings: Unpack[ScheduleSettings]) -> Schedule:
        """Make or change a schedule: `bell.schedules.put("nightly", job="send", cron="0 3 * * *")`.

        A schedule is known by its name. Put again with the same settings, nothing changes, and its next tick stays.
        """
        return self.put_all([Declaration(name, job, settings)], source="api")[0]

    aput = in_thread(put)

    def update(
        self, name: str, *, job: str | JobFunction[Any, Any] | None = None, **changes: Unpack[ScheduleChanges]
    ) -> Schedule:
        """Change what is named, and leave the rest: `bell.schedules.update("nightly", window=("01:00", "05:00"))`.

        None takes a setting back to its default. Where nothing is said about when it ticks, its next tick stays.
        """
        return self.update_if(name, job, changes, lambda _schedule: None)

    aupdate = in_thread(update)

    def update_if(
        self,
        name: str,
        job: str | JobFunction[Any, Any] | None,
        changes: ScheduleChanges,
        accept: Callable[[Schedule], None],
    ) -> Schedule:
        """Change a schedule that `accept` does not refuse: it is shown the version that is changed."""
        name = self.get(name).name

        def decide(known: dict[str, Schedule], now: datetime) -> list[ScheduleChange | None]:
            for old in known.values():
                accept(old)
            return [steer.redefine(old, self._changed(old, job, changes, now), now) for old in known.values()]

        self._write([name], decide)
        return self.get(name)

    def _changed(
        self, old: Schedule, job: str | JobFunction[Any, Any] | None, changes: ScheduleChanges, now: datetime
    ) -> Schedule:
        check_words(old.name, changes)
        check_changeable(old)
        given = with_whole_policy(self._with_urls(old.name, changes, old), old.options.retry)
        if "timezone" in given:
            given["timezone"] = self._zone(old.name, given["timezone"], None)
        if "at" in given and not (old.kind is ScheduleKind.ONCE and given["at"] == Once.parse(old.expression).at):
            _check_at(old.name, given["at"], now)
        with _naming(old.name):
            settings = changed(old, given)
        if job is None and given.keys().isdisjoint(("input", "target")):  # as it was checked when it was put
            known = self._runtime.registry.find(old.job) or self._runtime.store.jobs.find(old.tenant, old.job)
            meant = Meant(old.job, old.options.input, NO_DEFAULTS if known is None else known.terms.defaults)
        else:
            meant = self._meant(old.job if job is None else job, settings)
        return declare(
            old.name,
            meant.job,
            settings,
            tenant=old.tenant,
            timezone=settings["timezone"],
            input=meant.input,
            source=old.source,
            now=now,
            old=old,
            of_job=meant.defaults,
        )

    def put_all(
        self,
        declarations: Sequence[Declaration],
        *,
        source: str,
        accept: Callable[[Schedule | None], None] | None = None,
        since: datetime | None = None,
        created_by: str = "",
    ) -> list[Schedule]:
        """Put many schedules of one source; nothing is written if one of them cannot be used.

        `accept` is shown each as it was, and raises if it must not be replaced: the write is guarded by what it saw.
        With `since`, a new one has its ticks from that time on, which is past. `created_by` is for new ones that do not
        say it themselves.
        """
        names = [declaration.name for declaration in declarations]

        def decide(known: dict[str, Schedule], now: datetime) -> list[ScheduleChange | None]:
            changes: list[ScheduleChange | None] = []
            for declaration in declarations:
                old = known.get(declaration.name)
                if accept is not None:
                    accept(old)
                if old is None:
                    begin = since or now
                    made = self._declare(declaration, source, begin, None, created_by)
                    changes.append(steer.begin(made, begin))
                else:
                    changes.append(steer.redefine(old, self._declare(declaration, source, now, old), now))
            return changes

        self._write(names, decide)
        found = schedules_named(self._runtime.store, self._runtime.tenant, names)
        for name in names:
            if name not in found:
                raise ScheduleNotFound(f"schedule {name}: somebody deleted it while it was being put; put it again.")
        return [found[name] for name in names]

    def check(self, declaration: Declaration) -> None:
        """Raise if a declaration cannot be used; nothing is read or written."""
        self._declare(declaration, "check", datetime.now(UTC), None)

    def disable_others(self, declared: Iterable[str], *, source: str, reason: str) -> list[Schedule]:
        """Switch off the schedules of a source that it no longer declares; they stay visible, with the reason."""
        names = set(declared)
        gone = [s for s in self._pages(source) if s.name not in names and s.enabled]

        def decide(known: dict[str, Schedule], now: datetime) -> list[ScheduleChange | None]:
            return [steer.switch_off(schedule, reason, now) for schedule in known.values() if schedule.source == source]

        if gone:
            self._write([schedule.name for schedule in gone], decide)
        return gone

    def _declare(
        self, declaration: Declaration, source: str, now: datetime, old: Schedule | None, created_by: str = ""
    ) -> Schedule:
        check_words(declaration.name, declaration.settings)  # first: without it, the job's arguments may be missing
        settings = cast(ScheduleSettings, self._with_urls(declaration.name, declaration.settings, old))
        if settings.get("created_by") is None:  # the creator stays, also if another user changes it
            settings["created_by"] = created_by if old is None else old.options.created_by
        meant = self._meant(declaration.job, settings)
        zone = self._zone(declaration.name, settings.get("timezone"), old)
        if source == "api" and old is None:
            _check_at(declaration.name, settings.get("at"), now)
        return declare(
            declaration.name,
            meant.job,
            settings,
            tenant=self._runtime.tenant,
            timezone=zone,
            input=meant.input,
            source=source,
            now=now,
            old=old,
            of_job=meant.defaults,
        )

    def _meant(self, job: str | JobFunction[Any, Any], settings: ScheduleSettings) -> Meant:
        """The job that is named, with the arguments of its runs, checked."""
        try:
            found = resolve(self._runtime, job, settings.get("input"), settings.get("target"))
        except InvalidInput as error:
            if settings.get("input") is not None:
                raise
            raise InvalidInput(f"{error} A tick brings no arguments; input={{…}} of the schedule does.") from None
        return Meant(found.job, found.given_text, found.terms.defaults)

    def _zone(self, name: str, given: object, old: Schedule | None) -> str:
        """Resolved once, and cached."""
        zone = given or self._runtime.timezone or _kept_zone(old) or timezone_name()
        if not isinstance(zone, str):
            raise JobsError(f"schedule {name}: timezone: expected a name such as 'Europe/Paris'.")
        return zone

    @property
    def _sealer(self) -> Sealer:
        return Sealer.from_setting(self._runtime.registry.resources.secret_key)

    def _with_urls(self, name: str, settings: Mapping[str, Any], old: Schedule | None) -> dict[str, Any]:
        """The settings, with their URLs checked; one that is given as it was shown is the one that is known."""
        resources = self._runtime.registry.resources
        given, allow, sealer = dict(settings), resources.webhook_allow, self._sealer
        for word in URLS:
            if word not in given:
                continue
            known: str | None = None if old is None else getattr(old.options, word)
            try:
                given[word] = sealed_url(word, given[word], known, allow, sealer)
            except (EndpointRefused, InvalidOption) as error:
                raise type(error)(f"schedule {name}: {error}") from None
        return given

    def _write(
        self, names: Sequence[str], decide: Callable[[dict[str, Schedule], datetime], list[ScheduleChange | None]]
    ) -> None:
        """Read, decide, write under guards; again for those that a scheduler changed meanwhile."""
        store = self._runtime.store
        measure_old_time(store)
        for _ in range(TRIES):
            changes = [
                change
                for change in decide(schedules_named(store, self._runtime.tenant, names), store.clock.now())
                if change is not None
            ]
            if not changes:
                return
            written = store.schedules.write(changes)
            store.wake()
            self._runtime.wake()
            if len(written) == len({change.schedule.id for change in changes}):
                return
        raise _changed_too_often(names[0])

    # Read

    def get(self, name: str) -> Schedule:
        """A schedule by its name, or by its id, which is what its runs know of it."""
        return find_schedule(self._runtime.store, self._runtime.tenant, name)

    aget = in_thread(get)

    def list(self, *, after: str = "", limit: int = PAGE) -> list[Schedule]:
        """Schedules by name; `after` is the last name of the page before."""
        _check_range("limit", limit, PAGE)
        return self._runtime.store.schedules.list(self._runtime.tenant, source=None, after=after, limit=limit)

    alist = in_thread(list)  # noqa: A003

    def _pages(self, source: str) -> Iterable[Schedule]:
        after, store = "", self._runtime.store
        while page := store.schedules.list(self._runtime.tenant, source=source, after=after, limit=PAGE):
            yield from page
            after = page[-1].name

    def upcoming(self, limit: int = 10) -> Sequence[UpcomingTick]:
        """Next ticks of all schedules, the next one first; those that are paused or switched off are left out."""
        _check_range("limit", limit, MOST_UPCOMING)
        return [
            UpcomingTick(
                schedule=schedule.name,
                job=schedule.job,
                due=schedule.next_run_at,
                timezone=schedule.timezone,
                in_words=schedule_in_words(schedule),
            )
            for schedule in self._runtime.store.reports.upcoming(self._runtime.tenant, limit)
            if schedule.next_run_at is not None
        ]

    aupcoming = in_thread(upcoming)

    def preview(self, name: str, n: int = 5, *, after: datetime | None = None) -> Sequence[datetime]:
        """When the next runs will be due, by the rule and the window; in UTC."""
        _check_range("n", n, PAGE)
        schedule, since = self.get(name), self._since(after)
        with _naming(name):
            return first_runs(rule_of(schedule), since, n, inf)

    apreview = in_thread(preview)

    def preview_local(self, name: str, n: int = 5, *, after: datetime | None = None) -> UpcomingTicks:
        """The preview with local times and notes on clock changes; it has fewer than `n` where ticks are rare.

        The search ends after a tenth of a second of the CPU.
        """
        _check_range("n", n, PAGE)
        schedule, since = self.get(name), self._since(after)
        with _naming(name):
            return upcoming_ticks(rule_of(schedule), schedule.timezone, since, n)

    apreview_local = in_thread(preview_local)

    def try_out(
        self,
        *,
        cron: str | None = None,
        every: float | timedelta | None = None,
        at: datetime | None = None,
        anchor: datetime | None = None,
        timezone: str = "UTC",
        window: tuple[str, str] | None = None,
        outside: str | None = None,
        n: int = 5,
    ) -> TriedTiming:
        """Try a timing before it is put: in words, and when its next runs would be due, without any jitter.

        `bell.schedules.try_out(cron="0 3 * * MON-FRI", timezone="Europe/Paris")`. One of `cron`, `every` and `at` says
        when, as in `put`; nothing is written. There are `n` runs, up to 100, or fewer where ticks are rare.
        """
        _check_range("n", n, MOST_TRIED)
        given = {"cron": cron, "every": every, "at": at, "anchor": anchor, "window": window, "outside": outside}
        settings = cast(ScheduleSettings, {word: value for word, value in given.items() if value is not None})
        return tried_timing(settings, timezone, self._runtime.store.clock.now(), n)

    atry_out = in_thread(try_out)

    def _since(self, after: datetime | None) -> datetime:
        return self._runtime.store.clock.now() if after is None else aware("after", after)

    def ticks(self, name: str, *, before: datetime | None = None, limit: int = 100) -> Sequence[Tick]:
        """Outcomes of a schedule's ticks, newest first: fired, skipped (why), coalesced or deferred."""
        _check_range("limit", limit, PAGE)
        upto = LAST if before is None else aware("before", before)
        schedule = self.get(name)
        stretch = self._stretch_outside(schedule)
        found = self._runtime.store.schedules.ticks(schedule.id, before=upto, limit=limit)
        if stretch is None or stretch.due >= upto or (found and found[0].due >= stretch.due):  # or written meanwhile
            return found
        return [stretch, *found][:limit]

    aticks = in_thread(ticks)

    def _stretch_outside(self, schedule: Schedule) -> Tick | None:
        try:
            return stretch_outside(schedule, rule_of(schedule), self._runtime.store.clock.now())
        except JobsError:  # it cannot be read
            return None

    # Steer

    def pause(self, name: str) -> Schedule:
        """No tick makes a run until `resume`; what is queued or running goes on."""
        return self._steer(name, steer.pause)

    apause = in_thread(pause)

    def resume(self, name: str) -> Schedule:
        """Go on from the next tick; those that passed meanwhile are in the ledger as skipped."""
        return self._steer(name, steer.resume)

    aresume = in_thread(resume)

    def run(self, name: str) -> Run:
        """Run a schedule's job now, with its input and settings; its ticks go on as before."""
        schedule = self.get(name)
        return self._enqueuing.enqueue(schedule.job, schedule.input, **enqueue_options(schedule))

    async def arun(self, name: str) -> Run:
        """`run` for async code."""
        schedule = await self.aget(name)
        return await self._enqueuing.aenqueue(schedule.job, schedule.input, **enqueue_options(schedule))

    def _steer(self, name: str, move: Steer) -> Schedule:
        name = self.get(name).name  # it may be given by its id
        with _naming(name):
            self._write([name], lambda known, now: [move(schedule, now) for schedule in known.values()])
        return self.get(name)

    def delete(self, name: str) -> None:
        """Remove a schedule; its runs stay."""
        self.delete_if(name, lambda _schedule: None)

    adelete = in_thread(delete)

    def delete_if(self, name: str, accept: Callable[[Schedule], None]) -> None:
        """Remove a schedule that `accept` does not refuse: it is shown the version that is removed."""
        for _ in range(TRIES):
            known = self.get(name)
            accept(known)
            if self._runtime.store.schedules.delete(known.id, known.version):
                return
        raise _changed_too_often(name)


def _check_range(word: str, value: int, most: int) -> None:
    if not 1 <= value <= most:
        raise InvalidOption(f"{word}: {value} is not from 1 to {most}.")


def _check_at(name: str, at: object, now: datetime) -> None:
    if isinstance(at, datetime) and at.tzinfo and at <= now:
        raise InvalidOption(
            f"schedule {name}: at: {at.isoformat()} is past, so it would never fire; "
            "choose a time to come, or enqueue the job now."
        )


def _changed_too_often(name: str) -> StoreError:
    return StoreError(f"schedule {name}: others changed it again and again meanwhile; try again.")


@contextmanager
def _naming(name: str) -> Iterator[None]:
    """Errors about a rule that cannot be read say whose it is."""
    try:
        yield
    except JobsError as error:
        raise JobsError(f"schedule {name}: {error}") from error


def _kept_zone(old: Schedule | None) -> str | None:
    """The zone of a schedule that is put again; one that is broken in storage is mended by that."""
    try:
        return None if old is None else resolve_timezone(old.timezone).key
    except JobsError:
        return None

"""Verbs of `workbell.Client`, made from the local client and the wire's table by `make generate`."""

from __future__ import annotations

import builtins
from datetime import timedelta
from typing import TYPE_CHECKING

from workbell.remote import plans
from workbell.remote.asking import ask
from workbell.remote.part import RemotePart
from workbell.remote.transport import ServiceTransport
from workbell.wire.table import BY_VERB

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime, timedelta
    from typing import Any, BinaryIO, Unpack

    from workbell.access.tenants import TenantSettings
    from workbell.access.token_request import Expires
    from workbell.events.triggers import Processor, TriggerChanges, TriggerSettings
    from workbell.handlers.job_function import JobFunction
    from workbell.model.access import Token
    from workbell.model.agent import Agent
    from workbell.model.audit import AuditEntry
    from workbell.model.delivery import Delivery
    from workbell.model.endpoint import Health
    from workbell.model.event import Event
    from workbell.model.event_count import EventCount
    from workbell.model.event_subscribers import EventSubscriber, Matched
    from workbell.model.execution import Execution, Invocation
    from workbell.model.job import Job
    from workbell.model.log_line import LogLine
    from workbell.model.notification import Notification
    from workbell.model.one_shot import Consumed, Dispatched
    from workbell.model.pause import Pause
    from workbell.model.queue_scale import Scale
    from workbell.model.queue_state import QueueState
    from workbell.model.recent_runs import RecentRuns
    from workbell.model.request import EnqueueOptions
    from workbell.model.retry import Retry
    from workbell.model.rewind import Rewind
    from workbell.model.run import Attempt
    from workbell.model.run_filter import FilterOptions
    from workbell.model.run_page import Counted
    from workbell.model.schedule import Schedule, Tick
    from workbell.model.stored_file import StoredFile
    from workbell.model.tally_chart import TallyChart
    from workbell.model.tenant import Tenant
    from workbell.model.trigger import RetryConfig, Trigger
    from workbell.model.upcoming_ticks import TriedTiming, UpcomingTick, UpcomingTicks
    from workbell.model.users import UserId
    from workbell.model.worker import SeenWorker
    from workbell.notices.notifications import Listed
    from workbell.remote.values import FoundRunPage, RemoteNewEndpoint, RemoteNewToken
    from workbell.runs.jobs import JobChanges, JobOptions
    from workbell.scheduling.settings import ScheduleChanges, ScheduleSettings
    from workbell.webhooks.endpoints import EndpointSettings
    from workbell.wire.runs import FoundRun, MadeRun, RunShown
    from workbell.wire.webhooks import EndpointShown


class RemoteRuns(RemotePart):
    """The runs of a tenant: `client.runs`."""

    def __call__(
        self, *, before: str | None = None, limit: int = 100, **wanted: Unpack[FilterOptions]
    ) -> builtins.list[FoundRun]:
        """Runs by filter, newest first; `before` is the id of the last run of the page before.

        `client.runs(status="failed", since=yesterday, input={"customer.id": 42})`. By an event, a field of the input or
        `retried` all runs are read that the other words leave; `page_of_runs` stops after a while.
        """
        return self._transport.follow(plans.runs_call(before=before, limit=limit, **wanted))

    async def acall(
        self, *, before: str | None = None, limit: int = 100, **wanted: Unpack[FilterOptions]
    ) -> builtins.list[FoundRun]:
        return await self._transport.afollow(plans.runs_call(before=before, limit=limit, **wanted))

    def page(self, *, before: str | None = None, limit: int = 100, **wanted: Unpack[FilterOptions]) -> FoundRunPage:
        """The same in bounded time and size: a page may have fewer, or none; go on `before` its `next`."""
        return self._transport.follow(plans.runs_page(before=before, limit=limit, **wanted))

    async def apage(
        self, *, before: str | None = None, limit: int = 100, **wanted: Unpack[FilterOptions]
    ) -> FoundRunPage:
        return await self._transport.afollow(plans.runs_page(before=before, limit=limit, **wanted))

    def count(self, **wanted: Unpack[FilterOptions]) -> Counted:
        """How many runs there are by a filter: counted up to 10,000, and among no more than the last 20,000 where each
        has to be read.
        """
        return self._transport.follow(plans.runs_count(**wanted))

    async def acount(self, **wanted: Unpack[FilterOptions]) -> Counted:
        return await self._transport.afollow(plans.runs_count(**wanted))

    def tallies(self, minutes: int = 60, *, job: str | None = None, queue: str | None = None) -> TallyChart:
        """Numbers of finished attempts over the last minutes, up to a week: by steps of time, and by job.

        A step is as long as it takes to have no more than 120 of them. What ended in the newest seconds may be missing:
        each worker adds up by itself, and writes that down every five seconds.
        """
        return self._transport.follow(ask(BY_VERB["runs.tallies"], {"minutes": minutes, "job": job, "queue": queue}))

    async def atallies(self, minutes: int = 60, *, job: str | None = None, queue: str | None = None) -> TallyChart:
        return await self._transport.afollow(
            ask(BY_VERB["runs.tallies"], {"minutes": minutes, "job": job, "queue": queue})
        )

    def bulk(self, action: str, *, dry_run: bool = False, **wanted: Unpack[FilterOptions]) -> RunShown:
        """Cancel or retry all runs of a filter that were made before now: a run of its own does it, with progress.

        `client.bulk("retry", job="send", status="failed", since=yesterday)`. Without a status, `cancel` means all runs
        that have not ended, and `retry` those that failed. `retry` leaves out what was retried before, however often it
        is asked for. The result has `matched`, `done`, `skipped` and the first `errors`; with `dry_run` it is only
        counted what matches. It can be waited for, watched and canceled as any run.
        Runs of Workbell's own jobs, such as webhooks and alerts, are meant only if their job is named.
        """
        return self._transport.follow(plans.runs_bulk(action=action, dry_run=dry_run, **wanted))

    async def abulk(self, action: str, *, dry_run: bool = False, **wanted: Unpack[FilterOptions]) -> RunShown:
        return await self._transport.afollow(plans.runs_bulk(action=action, dry_run=dry_run, **wanted))

    def get(self, run_id: str) -> FoundRun:
        """A run by its id."""
        return self._transport.follow(ask(BY_VERB["runs.get"], {"run_id": run_id}))

    async def aget(self, run_id: str) -> FoundRun:
        return await self._transport.afollow(ask(BY_VERB["runs.get"], {"run_id": run_id}))

    def attempts(self, run_id: str, *, after: int = 0, limit: int = 1000) -> builtins.list[Attempt]:
        """Attempts of a run, oldest first, from beyond number `after`: who worked on it, and how each ended.

        A run that snoozes may have any number of them: `after=max(run.attempt - 20, 0)` are the newest 20.
        """
        return self._transport.follow(ask(BY_VERB["runs.attempts"], {"run_id": run_id, "after": after, "limit": limit}))

    async def aattempts(self, run_id: str, *, after: int = 0, limit: int = 1000) -> builtins.list[Attempt]:
        return await self._transport.afollow(
            ask(BY_VERB["runs.attempts"], {"run_id": run_id, "after": after, "limit": limit})
        )

    def logs(self, run_id: str, *, after: LogLine | None = None, limit: int = 1000) -> builtins.list[LogLine]:
        """Log lines of a run, written with `ctx.logger`, oldest first; `after` is the last one of the page before."""
        return self._transport.follow(plans.runs_logs(run_id=run_id, after=after, limit=limit))

    async def alogs(self, run_id: str, *, after: LogLine | None = None, limit: int = 1000) -> builtins.list[LogLine]:
        return await self._transport.afollow(plans.runs_logs(run_id=run_id, after=after, limit=limit))

    def why(self, run_id: str) -> str:
        """Why a run is not running (or how it ended), in a sentence or two."""
        return self._transport.follow(plans.runs_why(run_id=run_id))

    async def awhy(self, run_id: str) -> str:
        return await self._transport.afollow(plans.runs_why(run_id=run_id))

    def cancel(self, run_id: str, reason: str = "canceled on request") -> RunShown:
        """Cancel a run. If no worker has claimed it, it ends at once: the answer has the status `canceled`, and its
        handler is not called any more. Otherwise its worker is asked to stop it: the answer has `cancel_requested`, and
        its handler may have begun, or begin before the worker is told, usually within 0.1 s.
        """
        return self._transport.follow(ask(BY_VERB["runs.cancel"], {"run_id": run_id, "reason": reason}))

    async def acancel(self, run_id: str, reason: str = "canceled on request") -> RunShown:
        return await self._transport.afollow(ask(BY_VERB["runs.cancel"], {"run_id": run_id, "reason": reason}))

    def retry(self, run_id: str) -> RunShown:
        """Run a finished run's job again, with the same input: a new run, linked by `retry_of`."""
        return self._transport.follow(ask(BY_VERB["runs.retry"], {"run_id": run_id}))

    async def aretry(self, run_id: str) -> RunShown:
        return await self._transport.afollow(ask(BY_VERB["runs.retry"], {"run_id": run_id}))

    def wait(self, run_id: str, timeout: float | timedelta | None = None) -> FoundRun:
        """Wait until a run has ended, and return it; raises WaitTimeout when the time is over first."""
        return self._transport.follow(plans.runs_wait(run_id=run_id, timeout=timeout))

    async def await_(self, run_id: str, timeout: float | timedelta | None = None) -> FoundRun:
        return await self._transport.afollow(plans.runs_wait(run_id=run_id, timeout=timeout))


class RemoteWorkers(RemotePart):
    """The workers of the store, of all machines: `client.workers`."""

    def __call__(self) -> builtins.list[SeenWorker]:
        """The workers of the store, of all machines. Lost ones are listed for a day."""
        return self._transport.follow(ask(BY_VERB["workers.__call__"], {}))

    async def acall(self) -> builtins.list[SeenWorker]:
        return await self._transport.afollow(ask(BY_VERB["workers.__call__"], {}))

    def drain(self, worker_id: str) -> SeenWorker:
        """Have a worker claim nothing until `resume_worker`; what it runs goes on, what it has not begun goes back.

        It obeys soon, at the latest after ten seconds, says so (`worker.drain_seen_at`: it begins nothing more), and
        stays there. Once it has said so and holds nothing any more (`busy` is 0), its machine can be taken away. It
        works for all tenants, and is drained for all. One that is started again is another worker, and claims.
        """
        return self._transport.follow(ask(BY_VERB["workers.drain"], {"worker_id": worker_id}))

    async def adrain(self, worker_id: str) -> SeenWorker:
        return await self._transport.afollow(ask(BY_VERB["workers.drain"], {"worker_id": worker_id}))

    def resume(self, worker_id: str) -> SeenWorker:
        """Let a drained worker claim runs again."""
        return self._transport.follow(ask(BY_VERB["workers.resume"], {"worker_id": worker_id}))

    async def aresume(self, worker_id: str) -> SeenWorker:
        return await self._transport.afollow(ask(BY_VERB["workers.resume"], {"worker_id": worker_id}))

    def rewinds(self, *, before: str | None = None, limit: int = 100) -> builtins.list[Rewind]:
        """Runs of this tenant about which a worker knew more than the store that went back, newest first.

        A store goes back when an older backup is restored, or a failover loses commits. The records stay for 30 days.
        """
        return self._transport.follow(ask(BY_VERB["workers.rewinds"], {"before": before, "limit": limit}))

    async def arewinds(self, *, before: str | None = None, limit: int = 100) -> builtins.list[Rewind]:
        return await self._transport.afollow(ask(BY_VERB["workers.rewinds"], {"before": before, "limit": limit}))


class RemotePauses(RemotePart):
    """The pauses of a tenant: `client.pauses`."""

    def __call__(self) -> builtins.list[Pause]:
        """List the pauses of queues and jobs, and since when each holds."""
        return self._transport.follow(ask(BY_VERB["pauses.__call__"], {}))

    async def acall(self) -> builtins.list[Pause]:
        return await self._transport.afollow(ask(BY_VERB["pauses.__call__"], {}))

    def pause(self, *, queue: str | None = None, job: str | None = None) -> Pause:
        """Start no more runs of a queue, of a job, or of a job in one queue, until `resume`; what is running goes on.

        Runs are still taken, and wait. At the latest one poll (the setting `poll`) after this returns, no handler of
        them begins anywhere.
        """
        return self._transport.follow(plans.pauses_pause(queue=queue, job=job))

    async def apause(self, *, queue: str | None = None, job: str | None = None) -> Pause:
        return await self._transport.afollow(plans.pauses_pause(queue=queue, job=job))

    def resume(self, *, queue: str | None = None, job: str | None = None) -> int:
        """End the pauses of a queue (also those of single jobs in it), of a job, or of a job in one queue; how many."""
        return self._transport.follow(plans.pauses_resume(queue=queue, job=job))

    async def aresume(self, *, queue: str | None = None, job: str | None = None) -> int:
        return await self._transport.afollow(plans.pauses_resume(queue=queue, job=job))


class RemoteQueues(RemotePart):
    """The queues of a tenant: `client.queues`."""

    def list(self) -> builtins.list[QueueState]:
        """The queues by name: those that have live runs, that a job is declared for, or that are paused."""
        return self._transport.follow(ask(BY_VERB["queues.list"], {}))

    async def alist(self) -> builtins.list[QueueState]:
        return await self._transport.afollow(ask(BY_VERB["queues.list"], {}))

    def scale(self, queue: Sequence[str] = ()) -> Scale:
        """How much load there is for workers, by queue: for autoscalers. Of these queues, or of all that are known.

        A queue that was asked for is in the answer, whether anything is known of it or not. Of all queues, the 1,000
        that want most are, and the total counts every one.
        """
        return self._transport.follow(ask(BY_VERB["queues.scale"], {"queue": queue}))

    async def ascale(self, queue: Sequence[str] = ()) -> Scale:
        return await self._transport.afollow(ask(BY_VERB["queues.scale"], {"queue": queue}))


class RemoteJobs(RemotePart):
    """The jobs of a tenant: `client.jobs`."""

    def put(
        self,
        name: str,
        *,
        handler: str | JobFunction[Any, Any],
        input: dict[str, Any] | None = None,
        enabled: bool | None = None,
        **options: Unpack[JobOptions],
    ) -> Job:
        """Make or replace a definition: `client.jobs.put("email-eu", handler="email", input={"region": "eu"})`.

        `handler` is the job whose code runs; it may be one that no worker has yet. A job whose code is in another
        language is its own handler: `client.jobs.put("greet", handler="greet")`. `input` is the template that the
        input of each run is merged onto (RFC 7396). The options are those of `@client.job`, and nothing is taken over
        from the handler's job. Every setting is replaced: one that you leave out is not set any more, but `enabled`
        stays as it is. `update` changes single settings. Put again with the same settings, nothing changes. With
        `expected`, only if it still has that `version`; 0: if there is none.
        """
        return self._transport.follow(
            ask(BY_VERB["jobs.put"], {"name": name, "handler": handler, "input": input, "enabled": enabled}, options)
        )

    async def aput(
        self,
        name: str,
        *,
        handler: str | JobFunction[Any, Any],
        input: dict[str, Any] | None = None,
        enabled: bool | None = None,
        **options: Unpack[JobOptions],
    ) -> Job:
        return await self._transport.afollow(
            ask(BY_VERB["jobs.put"], {"name": name, "handler": handler, "input": input, "enabled": enabled}, options)
        )

    def update(self, name: str, **changes: Unpack[JobChanges]) -> Job:
        """Change what is named, and leave the rest: `client.jobs.update("email-eu", timeout=30, rate=None)`.

        None takes a setting back to its default. A new template, queue or default counts for runs made later; timeout,
        retries and limits also for those that wait. With `expected`, only if it still has that `version`.
        """
        return self._transport.follow(ask(BY_VERB["jobs.update"], {"name": name}, changes))

    async def aupdate(self, name: str, **changes: Unpack[JobChanges]) -> Job:
        return await self._transport.afollow(ask(BY_VERB["jobs.update"], {"name": name}, changes))

    def get(self, name: str) -> Job:
        """A job by its name: a definition, or one that code declares."""
        return self._transport.follow(ask(BY_VERB["jobs.get"], {"name": name}))

    async def aget(self, name: str) -> Job:
        return await self._transport.afollow(ask(BY_VERB["jobs.get"], {"name": name}))

    def list(self) -> builtins.list[Job]:
        """All jobs, by name: definitions, and those that code declares, here or in another process.

        A job of the code here that no worker has stored yet has no id.
        """
        return self._transport.follow(ask(BY_VERB["jobs.list"], {}))

    async def alist(self) -> builtins.list[Job]:
        return await self._transport.afollow(ask(BY_VERB["jobs.list"], {}))

    def recent(self, job: str | None = None, limit: int = 20) -> Sequence[RecentRuns]:
        """The last finished runs of each job, and how long those of the last 200 took that succeeded or failed.

        Of one job, or of the first 200 by name; `limit` is the number of runs of each, up to 100.
        """
        return self._transport.follow(ask(BY_VERB["jobs.recent"], {"job": job, "limit": limit}))

    async def arecent(self, job: str | None = None, limit: int = 20) -> Sequence[RecentRuns]:
        return await self._transport.afollow(ask(BY_VERB["jobs.recent"], {"job": job, "limit": limit}))

    def enable(self, name: str) -> Job:
        """Let a definition take runs again; those that wait go on."""
        return self._transport.follow(ask(BY_VERB["jobs.enable"], {"name": name}))

    async def aenable(self, name: str) -> Job:
        return await self._transport.afollow(ask(BY_VERB["jobs.enable"], {"name": name}))

    def disable(self, name: str) -> Job:
        """Take no new runs of a definition: an enqueue is refused, ticks and events are noted as skipped.

        Runs that wait go on waiting, and what is running ends, as with a pause.
        """
        return self._transport.follow(ask(BY_VERB["jobs.disable"], {"name": name}))

    async def adisable(self, name: str) -> Job:
        return await self._transport.afollow(ask(BY_VERB["jobs.disable"], {"name": name}))

    def delete(self, name: str) -> None:
        """Remove a definition; its runs stay, and those that wait go on waiting until it is put again.

        Refused while a schedule or a trigger names it. Of jobs that code declares, only what the store still has of
        one whose code is gone can be removed. With `expected`, only if it still has that `version`.
        """
        self._transport.follow(ask(BY_VERB["jobs.delete"], {"name": name}))

    async def adelete(self, name: str) -> None:
        await self._transport.afollow(ask(BY_VERB["jobs.delete"], {"name": name}))


class RemoteSchedules(RemotePart):
    """The schedules of a tenant: `client.schedules`."""

    def put(self, name: str, *, job: str | JobFunction[Any, Any], **settings: Unpack[ScheduleSettings]) -> Schedule:
        """Make or change a schedule: `client.schedules.put("nightly", job="send", cron="0 3 * * *")`.

        A schedule is known by its name. Put again with the same settings, nothing changes, and its next tick stays.
        """
        return self._transport.follow(ask(BY_VERB["schedules.put"], {"name": name, "job": job}, settings))

    async def aput(
        self, name: str, *, job: str | JobFunction[Any, Any], **settings: Unpack[ScheduleSettings]
    ) -> Schedule:
        return await self._transport.afollow(ask(BY_VERB["schedules.put"], {"name": name, "job": job}, settings))

    def update(
        self, name: str, *, job: str | JobFunction[Any, Any] | None = None, **changes: Unpack[ScheduleChanges]
    ) -> Schedule:
        """Change what is named, and leave the rest: `client.schedules.update("nightly", window=("01:00", "05:00"))`.

        None takes a setting back to its default. Where nothing is said about when it ticks, its next tick stays.
        """
        return self._transport.follow(ask(BY_VERB["schedules.update"], {"name": name, "job": job}, changes))

    async def aupdate(
        self, name: str, *, job: str | JobFunction[Any, Any] | None = None, **changes: Unpack[ScheduleChanges]
    ) -> Schedule:
        return await self._transport.afollow(ask(BY_VERB["schedules.update"], {"name": name, "job": job}, changes))

    def get(self, name: str) -> Schedule:
        """A schedule by its name, or by its id, which is what its runs know of it."""
        return self._transport.follow(ask(BY_VERB["schedules.get"], {"name": name}))

    async def aget(self, name: str) -> Schedule:
        return await self._transport.afollow(ask(BY_VERB["schedules.get"], {"name": name}))

    def list(self, *, after: str = "", limit: int = 1000) -> builtins.list[Schedule]:
        """Schedules by name; `after` is the last name of the page before."""
        return self._transport.follow(ask(BY_VERB["schedules.list"], {"after": after, "limit": limit}))

    async def alist(self, *, after: str = "", limit: int = 1000) -> builtins.list[Schedule]:
        return await self._transport.afollow(ask(BY_VERB["schedules.list"], {"after": after, "limit": limit}))

    def upcoming(self, limit: int = 10) -> Sequence[UpcomingTick]:
        """Next ticks of all schedules, the next one first; those that are paused or switched off are left out."""
        return self._transport.follow(ask(BY_VERB["schedules.upcoming"], {"limit": limit}))

    async def aupcoming(self, limit: int = 10) -> Sequence[UpcomingTick]:
        return await self._transport.afollow(ask(BY_VERB["schedules.upcoming"], {"limit": limit}))

    def preview(self, name: str, n: int = 5, *, after: datetime | None = None) -> Sequence[datetime]:
        """When the next runs will be due, by the rule and the window; in UTC."""
        return self._transport.follow(plans.schedules_preview(name=name, n=n, after=after))

    async def apreview(self, name: str, n: int = 5, *, after: datetime | None = None) -> Sequence[datetime]:
        return await self._transport.afollow(plans.schedules_preview(name=name, n=n, after=after))

    def preview_local(self, name: str, n: int = 5, *, after: datetime | None = None) -> UpcomingTicks:
        """The preview with local times and notes on clock changes; it has fewer than `n` where ticks are rare.

        The search ends after a tenth of a second of the CPU.
        """
        return self._transport.follow(ask(BY_VERB["schedules.preview_local"], {"name": name, "n": n, "after": after}))

    async def apreview_local(self, name: str, n: int = 5, *, after: datetime | None = None) -> UpcomingTicks:
        return await self._transport.afollow(
            ask(BY_VERB["schedules.preview_local"], {"name": name, "n": n, "after": after})
        )

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

        `client.schedules.try_out(cron="0 3 * * MON-FRI", timezone="Europe/Paris")`. One of `cron`, `every` and `at` says
        when, as in `put`; nothing is written. There are `n` runs, up to 100, or fewer where ticks are rare.
        """
        return self._transport.follow(
            ask(
                BY_VERB["schedules.try_out"],
                {
                    "cron": cron,
                    "every": every,
                    "at": at,
                    "anchor": anchor,
                    "timezone": timezone,
                    "window": window,
                    "outside": outside,
                    "n": n,
                },
            )
        )

    async def atry_out(
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
        return await self._transport.afollow(
            ask(
                BY_VERB["schedules.try_out"],
                {
                    "cron": cron,
                    "every": every,
                    "at": at,
                    "anchor": anchor,
                    "timezone": timezone,
                    "window": window,
                    "outside": outside,
                    "n": n,
                },
            )
        )

    def ticks(self, name: str, *, before: datetime | None = None, limit: int = 100) -> Sequence[Tick]:
        """Outcomes of a schedule's ticks, newest first: fired, skipped (why), coalesced or deferred."""
        return self._transport.follow(ask(BY_VERB["schedules.ticks"], {"name": name, "before": before, "limit": limit}))

    async def aticks(self, name: str, *, before: datetime | None = None, limit: int = 100) -> Sequence[Tick]:
        return await self._transport.afollow(
            ask(BY_VERB["schedules.ticks"], {"name": name, "before": before, "limit": limit})
        )

    def pause(self, name: str) -> Schedule:
        """No tick makes a run until `resume`; what is queued or running goes on."""
        return self._transport.follow(ask(BY_VERB["schedules.pause"], {"name": name}))

    async def apause(self, name: str) -> Schedule:
        return await self._transport.afollow(ask(BY_VERB["schedules.pause"], {"name": name}))

    def resume(self, name: str) -> Schedule:
        """Go on from the next tick; those that passed meanwhile are in the ledger as skipped."""
        return self._transport.follow(ask(BY_VERB["schedules.resume"], {"name": name}))

    async def aresume(self, name: str) -> Schedule:
        return await self._transport.afollow(ask(BY_VERB["schedules.resume"], {"name": name}))

    def run(self, name: str) -> RunShown:
        """Run a schedule's job now, with its input and settings; its ticks go on as before."""
        return self._transport.follow(ask(BY_VERB["schedules.run"], {"name": name}))

    async def arun(self, name: str) -> RunShown:
        return await self._transport.afollow(ask(BY_VERB["schedules.run"], {"name": name}))

    def delete(self, name: str) -> None:
        """Remove a schedule; its runs stay."""
        self._transport.follow(ask(BY_VERB["schedules.delete"], {"name": name}))

    async def adelete(self, name: str) -> None:
        await self._transport.afollow(ask(BY_VERB["schedules.delete"], {"name": name}))


class RemoteTriggers(RemotePart):
    """The triggers of a tenant: `client.triggers`."""

    def add(
        self,
        name: str,
        *,
        pattern: str,
        processor: Processor,
        description: str = "",
        enabled: bool = True,
        retry: Retry | RetryConfig | None = None,
        retry_config: RetryConfig | None = None,
        **settings: Unpack[TriggerSettings],
    ) -> Trigger:
        """Start a job on every event that matches: `client.triggers.add("mails", pattern="posts.*", processor="mail")`.

        The processor is a job that takes an event, made with `@client.processor` or `@client.on`, here or in another
        process; or `webhook-delivery`, which sends the event to all webhook endpoints. `retry_config` are the words
        `max_attempts`, `initial_delay_ms`, `backoff_multiplier`, `max_delay_ms`. The settings are for every run that it
        makes, such as `tag=`, `user_id=` or `priority=`, before the job's.
        """
        return self._transport.follow(
            plans.triggers_add(
                name=name,
                pattern=pattern,
                processor=processor,
                description=description,
                enabled=enabled,
                retry=retry,
                retry_config=retry_config,
                **settings,
            )
        )

    async def aadd(
        self,
        name: str,
        *,
        pattern: str,
        processor: Processor,
        description: str = "",
        enabled: bool = True,
        retry: Retry | RetryConfig | None = None,
        retry_config: RetryConfig | None = None,
        **settings: Unpack[TriggerSettings],
    ) -> Trigger:
        return await self._transport.afollow(
            plans.triggers_add(
                name=name,
                pattern=pattern,
                processor=processor,
                description=description,
                enabled=enabled,
                retry=retry,
                retry_config=retry_config,
                **settings,
            )
        )

    def get(self, name_or_id: str) -> Trigger:
        """A trigger by its name or its id."""
        return self._transport.follow(ask(BY_VERB["triggers.get"], {"name_or_id": name_or_id}))

    async def aget(self, name_or_id: str) -> Trigger:
        return await self._transport.afollow(ask(BY_VERB["triggers.get"], {"name_or_id": name_or_id}))

    def matches(self, name_or_id: str, *, before: str | None = None, limit: int = 100) -> Sequence[Matched]:
        """Events that matched a trigger, with their outcomes, newest first; `before` is the `event` of the last one of
        a page.
        """
        return self._transport.follow(
            ask(BY_VERB["triggers.matches"], {"name_or_id": name_or_id, "before": before, "limit": limit})
        )

    async def amatches(self, name_or_id: str, *, before: str | None = None, limit: int = 100) -> Sequence[Matched]:
        return await self._transport.afollow(
            ask(BY_VERB["triggers.matches"], {"name_or_id": name_or_id, "before": before, "limit": limit})
        )

    def list(self) -> builtins.list[Trigger]:
        """All triggers, by name; also those that code declares."""
        return self._transport.follow(ask(BY_VERB["triggers.list"], {}))

    async def alist(self) -> builtins.list[Trigger]:
        return await self._transport.afollow(ask(BY_VERB["triggers.list"], {}))

    def update(self, name_or_id: str, **changes: Unpack[TriggerChanges]) -> Trigger:
        """Change what is named, and leave the rest: `client.triggers.update("mails", pattern="posts.**")`.

        Events are matched by what a trigger is at the moment of their fan-out; existing runs are not changed.
        With `expected`, only if it still has that `version`: nobody overwrites what somebody else has changed.
        """
        return self._transport.follow(plans.triggers_update(name_or_id=name_or_id, **changes))

    async def aupdate(self, name_or_id: str, **changes: Unpack[TriggerChanges]) -> Trigger:
        return await self._transport.afollow(plans.triggers_update(name_or_id=name_or_id, **changes))

    def enable(self, name_or_id: str) -> Trigger:
        """Let it start runs again, from the events that are fanned out from now on."""
        return self._transport.follow(ask(BY_VERB["triggers.enable"], {"name_or_id": name_or_id}))

    async def aenable(self, name_or_id: str) -> Trigger:
        return await self._transport.afollow(ask(BY_VERB["triggers.enable"], {"name_or_id": name_or_id}))

    def disable(self, name_or_id: str) -> Trigger:
        """Start no more runs; what matches meanwhile is noted as matched while disabled."""
        return self._transport.follow(ask(BY_VERB["triggers.disable"], {"name_or_id": name_or_id}))

    async def adisable(self, name_or_id: str) -> Trigger:
        return await self._transport.afollow(ask(BY_VERB["triggers.disable"], {"name_or_id": name_or_id}))

    def delete(self, name_or_id: str) -> None:
        """Remove a trigger; its runs stay. One that code declares comes back, within a minute while that code runs.

        With `expected`, only if it still has that `version`.
        """
        self._transport.follow(ask(BY_VERB["triggers.delete"], {"name_or_id": name_or_id}))

    async def adelete(self, name_or_id: str) -> None:
        await self._transport.afollow(ask(BY_VERB["triggers.delete"], {"name_or_id": name_or_id}))


class RemoteEvents(RemotePart):
    """The events of a tenant: `client.events`."""

    def get(self, event_id: str) -> Event:
        """An event by its id."""
        return self._transport.follow(ask(BY_VERB["events.get"], {"event_id": event_id}))

    async def aget(self, event_id: str) -> Event:
        return await self._transport.afollow(ask(BY_VERB["events.get"], {"event_id": event_id}))

    def list(self, *, type: str | None = None, before: str | None = None, limit: int = 100) -> builtins.list[Event]:
        """Events, newest first; `before` is the id of the last one of the page before.

        `type` is a type or a pattern. A pattern selects what a trigger with it would match, among the 10,000 events
        before `before`.
        """
        return self._transport.follow(ask(BY_VERB["events.list"], {"type": type, "before": before, "limit": limit}))

    async def alist(
        self, *, type: str | None = None, before: str | None = None, limit: int = 100
    ) -> builtins.list[Event]:
        return await self._transport.afollow(
            ask(BY_VERB["events.list"], {"type": type, "before": before, "limit": limit})
        )

    def matches(self, event_id: str, *, after: str | None = None, limit: int = 1000) -> Sequence[Matched]:
        """Matches of an event, with their outcomes; `after` is the `subscriber` of the last one of a page.

        Nothing, as long as the event was not fanned out: its `fanned_out_at` says whether it was.
        """
        return self._transport.follow(
            ask(BY_VERB["events.matches"], {"event_id": event_id, "after": after, "limit": limit})
        )

    async def amatches(self, event_id: str, *, after: str | None = None, limit: int = 1000) -> Sequence[Matched]:
        return await self._transport.afollow(
            ask(BY_VERB["events.matches"], {"event_id": event_id, "after": after, "limit": limit})
        )

    def counts(self, ids: Sequence[str]) -> Sequence[EventCount]:
        """How much each of up to 100 events matched, and how much of that became a run; those not found are left out.

        The matches of an event are counted up to 100.
        """
        return self._transport.follow(plans.events_counts(ids=ids))

    async def acounts(self, ids: Sequence[str]) -> Sequence[EventCount]:
        return await self._transport.afollow(plans.events_counts(ids=ids))

    def match(self, type: str, *, system: bool | None = None) -> Sequence[EventSubscriber]:
        """Which triggers and endpoints an event of this type would reach, enabled or not; nothing is emitted.

        `system` says that it is one of Workbell's own; the default follows from the type.
        """
        return self._transport.follow(plans.events_match(type=type, system=system))

    async def amatch(self, type: str, *, system: bool | None = None) -> Sequence[EventSubscriber]:
        return await self._transport.afollow(plans.events_match(type=type, system=system))


class RemoteExecutions(RemotePart):
    """The executions of a tenant: `client.executions`."""

    def __call__(
        self,
        *,
        trigger: str | None = None,
        event: str | None = None,
        status: str | None = None,
        before: str | None = None,
        limit: int = 100,
    ) -> builtins.list[Execution]:
        """Runs that events started, newest first: of a trigger (by name or id), of an event, or of all.

        `before` is the id of the last one of the page before; `status` is pending, running, completed or failed.
        """
        return self._transport.follow(
            ask(
                BY_VERB["executions.__call__"],
                {"trigger": trigger, "event": event, "status": status, "before": before, "limit": limit},
            )
        )

    async def acall(
        self,
        *,
        trigger: str | None = None,
        event: str | None = None,
        status: str | None = None,
        before: str | None = None,
        limit: int = 100,
    ) -> builtins.list[Execution]:
        return await self._transport.afollow(
            ask(
                BY_VERB["executions.__call__"],
                {"trigger": trigger, "event": event, "status": status, "before": before, "limit": limit},
            )
        )

    def get(self, execution_id: str) -> Execution:
        """An execution by its id, which is that of its run."""
        return self._transport.follow(ask(BY_VERB["executions.get"], {"execution_id": execution_id}))

    async def aget(self, execution_id: str) -> Execution:
        return await self._transport.afollow(ask(BY_VERB["executions.get"], {"execution_id": execution_id}))

    def invocations(self, execution_id: str, *, after: int = 0, limit: int = 1000) -> builtins.list[Invocation]:
        """Attempts of an execution, oldest first, from beyond number `after`."""
        return self._transport.follow(
            ask(BY_VERB["executions.invocations"], {"execution_id": execution_id, "after": after, "limit": limit})
        )

    async def ainvocations(self, execution_id: str, *, after: int = 0, limit: int = 1000) -> builtins.list[Invocation]:
        return await self._transport.afollow(
            ask(BY_VERB["executions.invocations"], {"execution_id": execution_id, "after": after, "limit": limit})
        )


class RemoteWebhooks(RemotePart):
    """The webhook endpoints of a tenant: `client.webhooks`."""

    def add(self, url: str, *, secret: str | None = None, **settings: Unpack[EndpointSettings]) -> RemoteNewEndpoint:
        """Have events sent to a URL: `endpoint, secret = client.webhooks.add("https://…", patterns=["posts.*"])`.

        The secret, made here if you give none, signs every delivery. It is returned now, and never shown again.
        """
        return self._transport.follow(plans.webhooks_add(url=url, secret=secret, **settings))

    async def aadd(
        self, url: str, *, secret: str | None = None, **settings: Unpack[EndpointSettings]
    ) -> RemoteNewEndpoint:
        return await self._transport.afollow(plans.webhooks_add(url=url, secret=secret, **settings))

    def update(
        self, endpoint_id: str, *, url: str | None = None, **settings: Unpack[EndpointSettings]
    ) -> EndpointShown:
        """Change what is named; the rest stays."""
        return self._transport.follow(plans.webhooks_update(endpoint_id=endpoint_id, url=url, **settings))

    async def aupdate(
        self, endpoint_id: str, *, url: str | None = None, **settings: Unpack[EndpointSettings]
    ) -> EndpointShown:
        return await self._transport.afollow(plans.webhooks_update(endpoint_id=endpoint_id, url=url, **settings))

    def rotate(
        self, endpoint_id: str, *, secret: str | None = None, overlap: float | timedelta = timedelta(seconds=86400)
    ) -> RemoteNewEndpoint:
        """Give an endpoint another secret. For `overlap` (a day) the old one signs as well, so that none is refused."""
        return self._transport.follow(plans.webhooks_rotate(endpoint_id=endpoint_id, secret=secret, overlap=overlap))

    async def arotate(
        self, endpoint_id: str, *, secret: str | None = None, overlap: float | timedelta = timedelta(seconds=86400)
    ) -> RemoteNewEndpoint:
        return await self._transport.afollow(
            plans.webhooks_rotate(endpoint_id=endpoint_id, secret=secret, overlap=overlap)
        )

    def enable(self, endpoint_id: str) -> EndpointShown:
        """Send again. What failed meanwhile is not sent by itself: see `replay`."""
        return self._transport.follow(ask(BY_VERB["webhooks.enable"], {"endpoint_id": endpoint_id}))

    async def aenable(self, endpoint_id: str) -> EndpointShown:
        return await self._transport.afollow(ask(BY_VERB["webhooks.enable"], {"endpoint_id": endpoint_id}))

    def disable(self, endpoint_id: str, reason: str = "disabled by hand") -> EndpointShown:
        """Send nothing more; matching events are recorded, and can be replayed."""
        return self._transport.follow(ask(BY_VERB["webhooks.disable"], {"endpoint_id": endpoint_id, "reason": reason}))

    async def adisable(self, endpoint_id: str, reason: str = "disabled by hand") -> EndpointShown:
        return await self._transport.afollow(
            ask(BY_VERB["webhooks.disable"], {"endpoint_id": endpoint_id, "reason": reason})
        )

    def delete(self, endpoint_id: str) -> None:
        """Remove an endpoint; its deliveries stay until their time is over, and those not sent yet are canceled."""
        self._transport.follow(ask(BY_VERB["webhooks.delete"], {"endpoint_id": endpoint_id}))

    async def adelete(self, endpoint_id: str) -> None:
        await self._transport.afollow(ask(BY_VERB["webhooks.delete"], {"endpoint_id": endpoint_id}))

    def get(self, endpoint_id: str) -> EndpointShown:
        """An endpoint by its id."""
        return self._transport.follow(ask(BY_VERB["webhooks.get"], {"endpoint_id": endpoint_id}))

    async def aget(self, endpoint_id: str) -> EndpointShown:
        return await self._transport.afollow(ask(BY_VERB["webhooks.get"], {"endpoint_id": endpoint_id}))

    def list(self) -> Sequence[EndpointShown]:
        """All endpoints, oldest first."""
        return self._transport.follow(ask(BY_VERB["webhooks.list"], {}))

    async def alist(self) -> Sequence[EndpointShown]:
        return await self._transport.afollow(ask(BY_VERB["webhooks.list"], {}))

    def health(self, endpoint_id: str) -> Health:
        """How deliveries to an endpoint go."""
        return self._transport.follow(plans.webhooks_health(endpoint_id=endpoint_id))

    async def ahealth(self, endpoint_id: str) -> Health:
        return await self._transport.afollow(plans.webhooks_health(endpoint_id=endpoint_id))

    def describe(self, endpoint_id: str) -> EndpointShown:
        """An endpoint and how it goes, ready for JSON; without its secrets and the values of its headers."""
        return self._transport.follow(plans.webhooks_describe(endpoint_id=endpoint_id))

    async def adescribe(self, endpoint_id: str) -> EndpointShown:
        return await self._transport.afollow(plans.webhooks_describe(endpoint_id=endpoint_id))

    def describe_all(self) -> Sequence[EndpointShown]:
        """All endpoints as `describe` shows them, oldest first."""
        return self._transport.follow(plans.webhooks_describe_all())

    async def adescribe_all(self) -> Sequence[EndpointShown]:
        return await self._transport.afollow(plans.webhooks_describe_all())

    def deliveries(
        self, endpoint_id: str, *, status: str | None = None, before: str | None = None, limit: int = 100
    ) -> Sequence[Delivery]:
        """Deliveries to an endpoint, sent and still to be sent, newest first; `attempts` has each try of one."""
        return self._transport.follow(
            ask(
                BY_VERB["webhooks.deliveries"],
                {"endpoint_id": endpoint_id, "status": status, "before": before, "limit": limit},
            )
        )

    async def adeliveries(
        self, endpoint_id: str, *, status: str | None = None, before: str | None = None, limit: int = 100
    ) -> Sequence[Delivery]:
        return await self._transport.afollow(
            ask(
                BY_VERB["webhooks.deliveries"],
                {"endpoint_id": endpoint_id, "status": status, "before": before, "limit": limit},
            )
        )

    def attempts(self, delivery_id: str, *, after: int = 0, limit: int = 1000) -> Sequence[Attempt]:
        """Tries of a delivery from beyond number `after`; the `result` of each has `status_code`, `duration_ms` and the
        beginning of the `answer`.
        """
        return self._transport.follow(
            ask(BY_VERB["webhooks.attempts"], {"delivery_id": delivery_id, "after": after, "limit": limit})
        )

    async def aattempts(self, delivery_id: str, *, after: int = 0, limit: int = 1000) -> Sequence[Attempt]:
        return await self._transport.afollow(
            ask(BY_VERB["webhooks.attempts"], {"delivery_id": delivery_id, "after": after, "limit": limit})
        )

    def replay(
        self, endpoint_id: str, *, event: str | None = None, since: datetime | None = None
    ) -> Sequence[Delivery]:
        """Send again: one event, whatever its outcome, or all since a time that were not delivered.

        The receiver gets them under the same `webhook-id` as before, and can recognise one that it has seen.
        """
        return self._transport.follow(
            ask(BY_VERB["webhooks.replay"], {"endpoint_id": endpoint_id, "event": event, "since": since})
        )

    async def areplay(
        self, endpoint_id: str, *, event: str | None = None, since: datetime | None = None
    ) -> Sequence[Delivery]:
        return await self._transport.afollow(
            ask(BY_VERB["webhooks.replay"], {"endpoint_id": endpoint_id, "event": event, "since": since})
        )

    def test(self, endpoint_id: str) -> Delivery:
        """Send a `webhook.ping` to this endpoint, and to no other; the answer is the delivery, to be waited for."""
        return self._transport.follow(ask(BY_VERB["webhooks.test"], {"endpoint_id": endpoint_id}))

    async def atest(self, endpoint_id: str) -> Delivery:
        return await self._transport.afollow(ask(BY_VERB["webhooks.test"], {"endpoint_id": endpoint_id}))


class RemoteTokens(RemotePart):
    """The tokens of a tenant: `client.tokens`. Those of all tenants are `client.tokens.list(tenant="*")`."""

    def create(
        self,
        name: str = "",
        *,
        scopes: Iterable[str] = ("read",),
        tenant: str | None = None,
        user_id: UserId | None = None,
        expires: Expires | None = None,
    ) -> RemoteNewToken:
        """Make a token: `token, text = client.tokens.create("grafana", scopes=["read"], expires=86400)`.

        The text is returned now, and never shown again. The tenant is this one unless another is named; `"*"` lets the
        token act for every one of them. Without scopes, but with a `user_id`, it reads this person's notifications.
        """
        return self._transport.follow(
            plans.tokens_create(name=name, scopes=scopes, tenant=tenant, user_id=user_id, expires=expires)
        )

    async def acreate(
        self,
        name: str = "",
        *,
        scopes: Iterable[str] = ("read",),
        tenant: str | None = None,
        user_id: UserId | None = None,
        expires: Expires | None = None,
    ) -> RemoteNewToken:
        return await self._transport.afollow(
            plans.tokens_create(name=name, scopes=scopes, tenant=tenant, user_id=user_id, expires=expires)
        )

    def revoke(self, token_id: str, *, tenant: str | None = None) -> Token:
        """Revoke a token: here at once, in other processes within a second.

        The sessions of browsers that signed in with it end as well.
        """
        return self._transport.follow(plans.tokens_revoke(token_id=token_id, tenant=tenant))

    async def arevoke(self, token_id: str, *, tenant: str | None = None) -> Token:
        return await self._transport.afollow(plans.tokens_revoke(token_id=token_id, tenant=tenant))

    def list(self, *, tenant: str | None = None, after: str | None = None, limit: int = 1000) -> Sequence[Token]:
        """Tokens by age, also those that are revoked or over; not those that live for seconds only.

        Up to `limit` of them; `after` is the id of the last one of the page before.
        """
        return self._transport.follow(plans.tokens_list(tenant=tenant, after=after, limit=limit))

    async def alist(self, *, tenant: str | None = None, after: str | None = None, limit: int = 1000) -> Sequence[Token]:
        return await self._transport.afollow(plans.tokens_list(tenant=tenant, after=after, limit=limit))

    def get(self, token_id: str, *, tenant: str | None = None) -> Token:
        """A token by its id."""
        return self._transport.follow(plans.tokens_get(token_id=token_id, tenant=tenant))

    async def aget(self, token_id: str, *, tenant: str | None = None) -> Token:
        return await self._transport.afollow(plans.tokens_get(token_id=token_id, tenant=tenant))


class RemoteTenants(RemotePart):
    """All tenants of the store: `client.tenants`."""

    def put(self, name: str, **settings: Unpack[TenantSettings]) -> Tenant:
        """Set what is named, the rest stays: `client.tenants.put("acme", weight=3, concurrency=10, rate="100/m")`.

        Where several tenants have runs waiting, each gets starts in proportion to its weight. `concurrency=None` and
        `rate=None` take a limit away.
        """
        return self._transport.follow(ask(BY_VERB["tenants.put"], {"name": name}, settings))

    async def aput(self, name: str, **settings: Unpack[TenantSettings]) -> Tenant:
        return await self._transport.afollow(ask(BY_VERB["tenants.put"], {"name": name}, settings))

    def get(self, name: str) -> Tenant:
        """A tenant that something was set for, or that has a run or a token."""
        return self._transport.follow(ask(BY_VERB["tenants.get"], {"name": name}))

    async def aget(self, name: str) -> Tenant:
        return await self._transport.afollow(ask(BY_VERB["tenants.get"], {"name": name}))

    def list(self, *, after: str = "", limit: int = 1000) -> Sequence[Tenant]:
        """Tenants by name; one that nothing was set for has a weight of 1 and no limits.

        Up to `limit` of them; `after` is the name of the last one of the page before.
        """
        return self._transport.follow(ask(BY_VERB["tenants.list"], {"after": after, "limit": limit}))

    async def alist(self, *, after: str = "", limit: int = 1000) -> Sequence[Tenant]:
        return await self._transport.afollow(ask(BY_VERB["tenants.list"], {"after": after, "limit": limit}))

    def delete(self, name: str) -> None:
        """Forget what was set for a tenant: its weight is 1 again, and its limits are gone. Its runs stay."""
        self._transport.follow(ask(BY_VERB["tenants.delete"], {"name": name}))

    async def adelete(self, name: str) -> None:
        await self._transport.afollow(ask(BY_VERB["tenants.delete"], {"name": name}))


class RemoteAudit(RemotePart):
    """Audit log of a tenant: `client.audit`."""

    def list(self, *, before: str | None = None, limit: int = 100, tenant: str | None = None) -> Sequence[AuditEntry]:
        """Entries, newest first: of this tenant, of the one that is named, or with `"*"` of all."""
        return self._transport.follow(plans.audit_list(before=before, limit=limit, tenant=tenant))

    async def alist(
        self, *, before: str | None = None, limit: int = 100, tenant: str | None = None
    ) -> Sequence[AuditEntry]:
        return await self._transport.afollow(plans.audit_list(before=before, limit=limit, tenant=tenant))


class RemoteNotifications(RemotePart):
    """`client.notifications`: the notifications of a person, and which of them they have read."""

    def list(self, *, unread: bool = False, before: str | None = None, limit: int = 100) -> Listed:
        """A person's own and everybody's, newest first; `before` is the id of the last one of the page before."""
        return self._transport.follow(
            ask(BY_VERB["notifications.list"], {"unread": unread, "before": before, "limit": limit})
        )

    async def alist(self, *, unread: bool = False, before: str | None = None, limit: int = 100) -> Listed:
        return await self._transport.afollow(
            ask(BY_VERB["notifications.list"], {"unread": unread, "before": before, "limit": limit})
        )

    def mark_read(self, ids: Sequence[str] | None = None) -> int:
        """Mark notifications of a person as read, these or all; return how many were unread."""
        return self._transport.follow(plans.notifications_mark_read(ids=ids))

    async def amark_read(self, ids: Sequence[str] | None = None) -> int:
        return await self._transport.afollow(plans.notifications_mark_read(ids=ids))


class RemoteFiles(RemotePart):
    """The stored files of a tenant: `client.files`."""

    def put(
        self,
        data: bytes | bytearray | memoryview | str | os.PathLike[str] | BinaryIO,
        *,
        filename: str | None = None,
        content_type: str | None = None,
    ) -> StoredFile:
        """Store bytes, the file at a path, or the rest of a file object; synced to the disk when it returns.

        The name is stored, and never used as a path. The default is the name of the path.
        """
        return self._transport.follow(plans.files_put(data=data, filename=filename, content_type=content_type))

    async def aput(
        self,
        data: bytes | bytearray | memoryview | str | os.PathLike[str] | BinaryIO,
        *,
        filename: str | None = None,
        content_type: str | None = None,
    ) -> StoredFile:
        return await self._transport.afollow(plans.files_put(data=data, filename=filename, content_type=content_type))

    def get(self, file_id: str) -> StoredFile:
        """A file's name, type, size and creation time."""
        return self._transport.follow(ask(BY_VERB["files.get"], {"file_id": file_id}))

    async def aget(self, file_id: str) -> StoredFile:
        return await self._transport.afollow(ask(BY_VERB["files.get"], {"file_id": file_id}))

    def open(self, file_id: str) -> BinaryIO:
        """Open a file's content for reading; the caller closes it."""
        return self._transport.follow(plans.files_open(file_id=file_id))

    async def aopen(self, file_id: str) -> BinaryIO:
        return await self._transport.afollow(plans.files_open(file_id=file_id))

    def delete(self, file_id: str) -> None:
        """Remove a file."""
        self._transport.follow(ask(BY_VERB["files.delete"], {"file_id": file_id}))

    async def adelete(self, file_id: str) -> None:
        await self._transport.afollow(ask(BY_VERB["files.delete"], {"file_id": file_id}))

    def list(self, *, after: str = "", limit: int = 100) -> builtins.list[StoredFile]:
        """Files, oldest first; `after` is the id of the last one of the page before."""
        return self._transport.follow(ask(BY_VERB["files.list"], {"after": after, "limit": limit}))

    async def alist(self, *, after: str = "", limit: int = 100) -> builtins.list[StoredFile]:
        return await self._transport.afollow(ask(BY_VERB["files.list"], {"after": after, "limit": limit}))


class RemoteAgents(RemotePart):
    """The agents of a tenant: `client.agents`."""

    def pairing(
        self, name: str | None = None, *, labels: Sequence[str] = (), expires: float | timedelta = 900.0
    ) -> RemoteNewToken:
        """A token that pairs one machine: `token, text = client.agents.pairing("web-1", labels=["gpu"])`.

        It is good for once, and for a quarter of an hour. The agent cannot choose its labels, nor a name given
        here; a name that exists is taken over by it, with its labels if none are given.
        """
        return self._transport.follow(plans.agents_pairing(name=name, labels=labels, expires=expires))

    async def apairing(
        self, name: str | None = None, *, labels: Sequence[str] = (), expires: float | timedelta = 900.0
    ) -> RemoteNewToken:
        return await self._transport.afollow(plans.agents_pairing(name=name, labels=labels, expires=expires))

    def list(self) -> Sequence[Agent]:
        """All agents, by name."""
        return self._transport.follow(ask(BY_VERB["agents.list"], {}))

    async def alist(self) -> Sequence[Agent]:
        return await self._transport.afollow(ask(BY_VERB["agents.list"], {}))

    def get(self, name: str) -> Agent:
        """An agent by its name or its id."""
        return self._transport.follow(ask(BY_VERB["agents.get"], {"name": name}))

    async def aget(self, name: str) -> Agent:
        return await self._transport.afollow(ask(BY_VERB["agents.get"], {"name": name}))

    def change(self, name: str, *, labels: Sequence[str] | None = None, enabled: bool | None = None) -> Agent:
        """Change what is named; the rest stays."""
        return self._transport.follow(
            ask(BY_VERB["agents.change"], {"name": name, "labels": labels, "enabled": enabled})
        )

    async def achange(self, name: str, *, labels: Sequence[str] | None = None, enabled: bool | None = None) -> Agent:
        return await self._transport.afollow(
            ask(BY_VERB["agents.change"], {"name": name, "labels": labels, "enabled": enabled})
        )

    def label(self, name: str, labels: Sequence[str]) -> Agent:
        """Give an agent these labels instead of those it has; from its next poll on it gets their runs."""
        return self._transport.follow(plans.agents_label(name=name, labels=labels))

    async def alabel(self, name: str, labels: Sequence[str]) -> Agent:
        return await self._transport.afollow(plans.agents_label(name=name, labels=labels))

    def enable(self, name: str) -> Agent:
        """Let an agent have runs again."""
        return self._transport.follow(plans.agents_enable(name=name))

    async def aenable(self, name: str) -> Agent:
        return await self._transport.afollow(plans.agents_enable(name=name))

    def disable(self, name: str) -> Agent:
        """Let an agent have no more runs; those that it has, it may end."""
        return self._transport.follow(plans.agents_disable(name=name))

    async def adisable(self, name: str) -> Agent:
        return await self._transport.afollow(plans.agents_disable(name=name))

    def delete(self, name: str) -> None:
        """Forget an agent; its tokens are valid no more. Runs that are aimed at it wait for another of its name."""
        self._transport.follow(ask(BY_VERB["agents.delete"], {"name": name}))

    async def adelete(self, name: str) -> None:
        await self._transport.afollow(ask(BY_VERB["agents.delete"], {"name": name}))


class ClientVerbs:
    """The parts of a client, and its most used verbs."""

    def __init__(self, transport: ServiceTransport) -> None:
        self.transport = transport
        self.runs = RemoteRuns(transport)
        self.workers = RemoteWorkers(transport)
        self.pauses = RemotePauses(transport)
        self.queues = RemoteQueues(transport)
        self.jobs = RemoteJobs(transport)
        self.schedules = RemoteSchedules(transport)
        self.triggers = RemoteTriggers(transport)
        self.events = RemoteEvents(transport)
        self.executions = RemoteExecutions(transport)
        self.webhooks = RemoteWebhooks(transport)
        self.tokens = RemoteTokens(transport)
        self.tenants = RemoteTenants(transport)
        self.audit = RemoteAudit(transport)
        self.notifications = RemoteNotifications(transport)
        self.files = RemoteFiles(transport)
        self.agents = RemoteAgents(transport)

    def enqueue(self, job: str, input: dict[str, Any] | None = None, **options: Unpack[EnqueueOptions]) -> MadeRun:
        """Have a job run by a worker, by its name: `client.enqueue("send", {"to": "a@b.c"}, delay=60)`."""
        return self.transport.follow(plans.enqueue(job=job, input=input, **options))

    async def aenqueue(
        self, job: str, input: dict[str, Any] | None = None, **options: Unpack[EnqueueOptions]
    ) -> MadeRun:
        return await self.transport.afollow(plans.enqueue(job=job, input=input, **options))

    def page_of_runs(
        self, *, before: str | None = None, limit: int = 100, **wanted: Unpack[FilterOptions]
    ) -> FoundRunPage:
        """The same in bounded time and size: a page may have fewer, or none; go on `before` its `next`."""
        return self.runs.page(before=before, limit=limit, **wanted)

    async def apage_of_runs(
        self, *, before: str | None = None, limit: int = 100, **wanted: Unpack[FilterOptions]
    ) -> FoundRunPage:
        return await self.runs.apage(before=before, limit=limit, **wanted)

    def count_runs(self, **wanted: Unpack[FilterOptions]) -> Counted:
        """How many runs there are by a filter: counted up to 10,000, and among no more than the last 20,000 where each
        has to be read.
        """
        return self.runs.count(**wanted)

    async def acount_runs(self, **wanted: Unpack[FilterOptions]) -> Counted:
        return await self.runs.acount(**wanted)

    def get(self, run_id: str) -> FoundRun:
        """A run by its id."""
        return self.runs.get(run_id)

    async def aget(self, run_id: str) -> FoundRun:
        return await self.runs.aget(run_id)

    def attempts(self, run_id: str, *, after: int = 0, limit: int = 1000) -> builtins.list[Attempt]:
        """Attempts of a run, oldest first, from beyond number `after`: who worked on it, and how each ended.

        A run that snoozes may have any number of them: `after=max(run.attempt - 20, 0)` are the newest 20.
        """
        return self.runs.attempts(run_id, after=after, limit=limit)

    async def aattempts(self, run_id: str, *, after: int = 0, limit: int = 1000) -> builtins.list[Attempt]:
        return await self.runs.aattempts(run_id, after=after, limit=limit)

    def why(self, run_id: str) -> str:
        """Why a run is not running (or how it ended), in a sentence or two."""
        return self.runs.why(run_id)

    async def awhy(self, run_id: str) -> str:
        return await self.runs.awhy(run_id)

    def cancel(self, run_id: str, reason: str = "canceled on request") -> RunShown:
        """Cancel a run. If no worker has claimed it, it ends at once: the answer has the status `canceled`, and its
        handler is not called any more. Otherwise its worker is asked to stop it: the answer has `cancel_requested`, and
        its handler may have begun, or begin before the worker is told, usually within 0.1 s.
        """
        return self.runs.cancel(run_id, reason)

    async def acancel(self, run_id: str, reason: str = "canceled on request") -> RunShown:
        return await self.runs.acancel(run_id, reason)

    def retry(self, run_id: str) -> RunShown:
        """Run a finished run's job again, with the same input: a new run, linked by `retry_of`."""
        return self.runs.retry(run_id)

    async def aretry(self, run_id: str) -> RunShown:
        return await self.runs.aretry(run_id)

    def wait(self, run_id: str, timeout: float | timedelta | None = None) -> FoundRun:
        """Wait until a run has ended, and return it; raises WaitTimeout when the time is over first."""
        return self.runs.wait(run_id, timeout)

    async def await_(self, run_id: str, timeout: float | timedelta | None = None) -> FoundRun:
        return await self.runs.await_(run_id, timeout)

    def bulk(self, action: str, *, dry_run: bool = False, **wanted: Unpack[FilterOptions]) -> RunShown:
        """Cancel or retry all runs of a filter that were made before now: a run of its own does it, with progress.

        `client.bulk("retry", job="send", status="failed", since=yesterday)`. Without a status, `cancel` means all runs
        that have not ended, and `retry` those that failed. `retry` leaves out what was retried before, however often it
        is asked for. The result has `matched`, `done`, `skipped` and the first `errors`; with `dry_run` it is only
        counted what matches. It can be waited for, watched and canceled as any run.
        Runs of Workbell's own jobs, such as webhooks and alerts, are meant only if their job is named.
        """
        return self.runs.bulk(action, dry_run=dry_run, **wanted)

    async def abulk(self, action: str, *, dry_run: bool = False, **wanted: Unpack[FilterOptions]) -> RunShown:
        return await self.runs.abulk(action, dry_run=dry_run, **wanted)

    def logs(self, run_id: str, *, after: LogLine | None = None, limit: int = 1000) -> builtins.list[LogLine]:
        """Log lines of a run, written with `ctx.logger`, oldest first; `after` is the last one of the page before."""
        return self.runs.logs(run_id, after=after, limit=limit)

    async def alogs(self, run_id: str, *, after: LogLine | None = None, limit: int = 1000) -> builtins.list[LogLine]:
        return await self.runs.alogs(run_id, after=after, limit=limit)

    def emit(
        self,
        type: str,
        data: Any = None,
        *,
        subject: str | None = None,
        source: str | None = None,
        key: str | None = None,
        connection: Any = None,
    ) -> Event:
        """Emit an event: `client.emit("posts.created", {"id": 7})`; every trigger that matches it starts one run.

        Of events with one `source` and `key` there is one: emitted again, you get the first one. With
        `connection=` it exists if and when the caller's own transaction commits.
        """
        return self.transport.follow(
            plans.emit(type=type, data=data, subject=subject, source=source, key=key, connection=connection)
        )

    async def aemit(
        self,
        type: str,
        data: Any = None,
        *,
        subject: str | None = None,
        source: str | None = None,
        key: str | None = None,
        connection: Any = None,
    ) -> Event:
        return await self.transport.afollow(
            plans.emit(type=type, data=data, subject=subject, source=source, key=key, connection=connection)
        )

    def execution(self, execution_id: str) -> Execution:
        """An execution by its id, which is that of its run."""
        return self.executions.get(execution_id)

    async def aexecution(self, execution_id: str) -> Execution:
        return await self.executions.aget(execution_id)

    def invocations(self, execution_id: str, *, after: int = 0, limit: int = 1000) -> builtins.list[Invocation]:
        """Attempts of an execution, oldest first, from beyond number `after`."""
        return self.executions.invocations(execution_id, after=after, limit=limit)

    async def ainvocations(self, execution_id: str, *, after: int = 0, limit: int = 1000) -> builtins.list[Invocation]:
        return await self.executions.ainvocations(execution_id, after=after, limit=limit)

    def drain_worker(self, worker_id: str) -> SeenWorker:
        """Have a worker claim nothing until `resume_worker`; what it runs goes on, what it has not begun goes back.

        It obeys soon, at the latest after ten seconds, says so (`worker.drain_seen_at`: it begins nothing more), and
        stays there. Once it has said so and holds nothing any more (`busy` is 0), its machine can be taken away. It
        works for all tenants, and is drained for all. One that is started again is another worker, and claims.
        """
        return self.workers.drain(worker_id)

    async def adrain_worker(self, worker_id: str) -> SeenWorker:
        return await self.workers.adrain(worker_id)

    def resume_worker(self, worker_id: str) -> SeenWorker:
        """Let a drained worker claim runs again."""
        return self.workers.resume(worker_id)

    async def aresume_worker(self, worker_id: str) -> SeenWorker:
        return await self.workers.aresume(worker_id)

    def pause(self, *, queue: str | None = None, job: str | None = None) -> Pause:
        """Start no more runs of a queue, of a job, or of a job in one queue, until `resume`; what is running goes on.

        Runs are still taken, and wait. At the latest one poll (the setting `poll`) after this returns, no handler of
        them begins anywhere.
        """
        return self.pauses.pause(queue=queue, job=job)

    async def apause(self, *, queue: str | None = None, job: str | None = None) -> Pause:
        return await self.pauses.apause(queue=queue, job=job)

    def resume(self, *, queue: str | None = None, job: str | None = None) -> int:
        """End the pauses of a queue (also those of single jobs in it), of a job, or of a job in one queue; how many."""
        return self.pauses.resume(queue=queue, job=job)

    async def aresume(self, *, queue: str | None = None, job: str | None = None) -> int:
        return await self.pauses.aresume(queue=queue, job=job)

    def notify(self, user_id: UserId, data: Any) -> Notification:
        """Notify one person: it reaches their open connections, and is stored to be read later."""
        return self.transport.follow(plans.notify(user_id=user_id, data=data))

    async def anotify(self, user_id: UserId, data: Any) -> Notification:
        return await self.transport.afollow(plans.notify(user_id=user_id, data=data))

    def broadcast(self, data: Any) -> Notification:
        """Notify everybody of this tenant."""
        return self.transport.follow(plans.broadcast(data=data))

    async def abroadcast(self, data: Any) -> Notification:
        return await self.transport.afollow(plans.broadcast(data=data))

    def dispatch(self, *, limit: int = 500) -> Dispatched:
        """Do one round of what is due, up to `limit` of each kind, and say what it was.

        Due ticks of schedules and waiting events become runs, due runs and retries are queued, runs whose worker is
        gone go back to the queue, and history past its retention is removed. What was queued is sent to the queue, if
        there is one beside the store; so is what has been queued for a minute, as a message may be lost.
        """
        return self.transport.follow(plans.dispatch(limit=limit))

    async def adispatch(self, *, limit: int = 500) -> Dispatched:
        return await self.transport.afollow(plans.dispatch(limit=limit))

    def consume(
        self,
        *,
        message: str | bytes | Mapping[str, Any] | None = None,
        runs: Sequence[str] | None = None,
        limit: int = 20,
        seconds: float = 50.0,
    ) -> Consumed:
        """Claim runs as a worker does and execute them here, until none is left, or `limit` or `seconds` are reached.

        With `message`, one of a queue as it was delivered, or its fields: just the run that it names, as far as it can
        start now. With `runs`, ids of runs: just these. What has not ended after `seconds` is handed
        back, nothing spent, and async and isolated handlers are stopped; so give a job that takes longer a worker.
        """
        return self.transport.follow(plans.consume(message=message, runs=runs, limit=limit, seconds=seconds))

    async def aconsume(
        self,
        *,
        message: str | bytes | Mapping[str, Any] | None = None,
        runs: Sequence[str] | None = None,
        limit: int = 20,
        seconds: float = 50.0,
    ) -> Consumed:
        return await self.transport.afollow(plans.consume(message=message, runs=runs, limit=limit, seconds=seconds))

    async def aruns(
        self, *, before: str | None = None, limit: int = 100, **wanted: Unpack[FilterOptions]
    ) -> builtins.list[FoundRun]:
        return await self.runs.acall(before=before, limit=limit, **wanted)

    async def aworkers(self) -> builtins.list[SeenWorker]:
        return await self.workers.acall()

    async def apauses(self) -> builtins.list[Pause]:
        return await self.pauses.acall()

    async def aexecutions(
        self,
        *,
        trigger: str | None = None,
        event: str | None = None,
        status: str | None = None,
        before: str | None = None,
        limit: int = 100,
    ) -> builtins.list[Execution]:
        return await self.executions.acall(trigger=trigger, event=event, status=status, before=before, limit=limit)

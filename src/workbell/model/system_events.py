"""System events, which Workbell emits itself: about runs, schedules, workers and endpoints."""

from __future__ import annotations

JOB_STARTED, JOB_COMPLETED, JOB_FAILED = "job.started", "job.completed", "job.failed"
RUN_CANCELED = "run.canceled"
CHAIN_ENDED = "run.chain_ended"  # of `auto_reschedule`: the last run failed, and no other follows
SCHEDULE_SKIPPED = "schedule.skipped"
WORKER_LOST = "worker.lost"
WEBHOOK_DISABLED = "webhook.disabled"
WEBHOOK_PING = "webhook.ping"  # only ever for the endpoint that is tried

SYSTEM_TYPES = (
    JOB_STARTED,
    JOB_COMPLETED,
    JOB_FAILED,
    RUN_CANCELED,
    CHAIN_ENDED,
    SCHEDULE_SKIPPED,
    WORKER_LOST,
    WEBHOOK_DISABLED,
    WEBHOOK_PING,
)

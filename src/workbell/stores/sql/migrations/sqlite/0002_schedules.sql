-- Schedules with their settings (as JSON), where the scheduler stands with each, and what their runs reported back.

ALTER TABLE workbell_schedules ADD COLUMN options TEXT NOT NULL DEFAULT '{}';
ALTER TABLE workbell_schedules ADD COLUMN source TEXT NOT NULL DEFAULT '';
ALTER TABLE workbell_schedules ADD COLUMN paused INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workbell_schedules ADD COLUMN reason TEXT;
ALTER TABLE workbell_schedules ADD COLUMN look_at INTEGER;
ALTER TABLE workbell_schedules ADD COLUMN held_tick INTEGER;
ALTER TABLE workbell_schedules ADD COLUMN deferred_until INTEGER;
ALTER TABLE workbell_schedules ADD COLUMN last_run_at INTEGER;
ALTER TABLE workbell_schedules ADD COLUMN last_run_id TEXT;
ALTER TABLE workbell_schedules ADD COLUMN last_fire_status TEXT;
ALTER TABLE workbell_schedules ADD COLUMN last_fire_at INTEGER;
ALTER TABLE workbell_schedules ADD COLUMN last_error TEXT;
ALTER TABLE workbell_schedules ADD COLUMN run_count INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workbell_schedules ADD COLUMN scheduler_failures INTEGER NOT NULL DEFAULT 0;

CREATE INDEX workbell_schedules_look ON workbell_schedules (look_at) WHERE look_at IS NOT NULL;

-- Apart from the schedule's own row, so that ending a run and firing a tick never wait for each other.
CREATE TABLE workbell_reports (
    schedule           TEXT PRIMARY KEY,
    last_run_status    TEXT NOT NULL CHECK (last_run_status IN ('success', 'failed')),
    last_run_ended_at  INTEGER NOT NULL,
    failed_runs        INTEGER NOT NULL DEFAULT 0
) STRICT;

-- The overlap test, and the runs of a schedule.
CREATE INDEX workbell_runs_schedule ON workbell_runs (schedule) WHERE schedule IS NOT NULL;
CREATE INDEX workbell_history_schedule ON workbell_history (schedule, id) WHERE schedule IS NOT NULL;
CREATE INDEX workbell_ticks_created ON workbell_ticks (created_at);

-- Schedules with their settings (as JSON), where the scheduler stands with each, and what their runs reported back.

ALTER TABLE workbell_schedules ADD COLUMN options text NOT NULL DEFAULT '{}';
ALTER TABLE workbell_schedules ADD COLUMN source text NOT NULL DEFAULT '';
ALTER TABLE workbell_schedules ADD COLUMN paused boolean NOT NULL DEFAULT false;
ALTER TABLE workbell_schedules ADD COLUMN reason text;
ALTER TABLE workbell_schedules ADD COLUMN look_at timestamptz;
ALTER TABLE workbell_schedules ADD COLUMN held_tick timestamptz;
ALTER TABLE workbell_schedules ADD COLUMN deferred_until timestamptz;
ALTER TABLE workbell_schedules ADD COLUMN last_run_at timestamptz;
ALTER TABLE workbell_schedules ADD COLUMN last_run_id uuid;
ALTER TABLE workbell_schedules ADD COLUMN last_fire_status text;
ALTER TABLE workbell_schedules ADD COLUMN last_fire_at timestamptz;
ALTER TABLE workbell_schedules ADD COLUMN last_error text;
ALTER TABLE workbell_schedules ADD COLUMN run_count integer NOT NULL DEFAULT 0;
ALTER TABLE workbell_schedules ADD COLUMN scheduler_failures integer NOT NULL DEFAULT 0;

CREATE INDEX workbell_schedules_look ON workbell_schedules (look_at) WHERE look_at IS NOT NULL;
CREATE INDEX workbell_schedules_source ON workbell_schedules (tenant, source, name);

-- Apart from the schedule's own row, so that ending a run and firing a tick never wait for each other.
CREATE TABLE workbell_reports (
    schedule           uuid PRIMARY KEY,
    last_run_status    text NOT NULL CHECK (last_run_status IN ('success', 'failed')),
    last_run_ended_at  timestamptz NOT NULL,
    failed_runs        integer NOT NULL DEFAULT 0
);

-- The overlap test, and the runs of a schedule.
CREATE INDEX workbell_runs_schedule ON workbell_runs (schedule) WHERE schedule IS NOT NULL;
CREATE INDEX workbell_history_schedule ON workbell_history (schedule, id) WHERE schedule IS NOT NULL;
CREATE INDEX workbell_ticks_created ON workbell_ticks (created_at);

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

-- No index by source: PostgreSQL would have to write it too at every tick, and it is asked for only at a start.
CREATE INDEX workbell_schedules_look ON workbell_schedules (look_at) WHERE look_at IS NOT NULL;

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
-- Ticks are written in the order of time and removed in that order: a summary of each stretch of pages is enough.
CREATE INDEX workbell_ticks_created ON workbell_ticks USING brin (created_at) WITH (pages_per_range = 16);

-- The dashboard: workers that are drained.

-- Few runs are canceled: without it, a page of those means a look at all that ended. Nothing is written for others.
-- No run can end while it is made here: of a history of many millions make it before, CONCURRENTLY, by the same name.
CREATE INDEX IF NOT EXISTS workbell_history_canceled ON workbell_history (id) WHERE status = 'canceled';

-- Last, as nobody can be seen until this is committed.
-- Since when a worker claims nothing more; null: it claims. Code of before leaves the column alone.
ALTER TABLE workbell_workers ADD COLUMN drained_at timestamptz;

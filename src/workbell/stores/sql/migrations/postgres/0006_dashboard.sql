-- The dashboard: workers that are drained.

-- Since when a worker claims nothing more; null: it claims. Code of before leaves the column alone.
ALTER TABLE workbell_workers ADD COLUMN drained_at timestamptz;

-- Few runs are canceled: without it, a page of those means a look at all that ended. Nothing is written for others.
CREATE INDEX workbell_history_canceled ON workbell_history (id) WHERE status = 'canceled';

-- Retries, found from the run that they repeat: a bulk retry leaves out what was retried, and a run names its retry.

-- No run can end while they are made: of a history of many millions make the second one before, CONCURRENTLY, by the
-- same name. Both are small, and are written only for retries.
CREATE INDEX IF NOT EXISTS workbell_runs_retry ON workbell_runs (retry_of) WHERE retry_of IS NOT NULL;
CREATE INDEX IF NOT EXISTS workbell_history_retry ON workbell_history (retry_of, id) WHERE retry_of IS NOT NULL;

-- Retries, found from the run that they repeat: a bulk retry leaves out what was retried, and a run names its retry.

-- Both are small, and are written only for retries.
CREATE INDEX workbell_runs_retry ON workbell_runs (retry_of) WHERE retry_of IS NOT NULL;
CREATE INDEX workbell_history_retry ON workbell_history (retry_of, id) WHERE retry_of IS NOT NULL;

-- Log lines of runs.

-- logs: the log lines of a run beyond an attempt and line, oldest first
SELECT run, attempt, line, at, level, message FROM workbell_logs
WHERE run = :id AND (attempt, line) > (:after_attempt, :after_line) ORDER BY attempt, line LIMIT :limit

-- export_logs: all log lines, by run, attempt and line
SELECT run, attempt, line, at, level, message FROM workbell_logs
WHERE (run, attempt, line) > (:after, :after_attempt, :after_line) ORDER BY run, attempt, line LIMIT :limit

-- load_log: a log line of another store
INSERT INTO workbell_logs (run, attempt, line, at, level, message)
VALUES (:run, :attempt, :line, :at, :level, :message) ON CONFLICT DO NOTHING

-- add_logs: lines of runs, each if it was written under the last lease of its run
-- The subqueries are scalar ones: each is a lookup by primary key, and can never become a hash of a whole table.
INSERT INTO workbell_logs (run, attempt, line, at, level, message)
SELECT new.run, new.attempt, new.line, new.at, new.level, new.message
FROM {rows new: token bigint, run uuid, attempt integer, line integer, at timestamptz, level text, message text}
WHERE new.token = COALESCE((SELECT r.token FROM workbell_runs r WHERE r.id = new.run),
    (SELECT h.token FROM workbell_history h WHERE h.id = new.run))
ON CONFLICT DO NOTHING RETURNING line

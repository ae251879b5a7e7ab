-- What D1 has beside SQLite's queries. Its tables are made in several batches: a batch takes no more than 40 statements.

-- steps_done: how many statements of the next migration are done, if somebody has begun it: whoever comes goes on with it
SELECT CAST(value AS INTEGER) FROM workbell_meta WHERE name = 'steps_done'

-- still_at_step: a guard: one row as long as nobody else has gone on with the migration
SELECT 1 WHERE COALESCE((SELECT CAST(value AS INTEGER) FROM workbell_meta WHERE name = 'schema_version'), 0) = :version
AND COALESCE((SELECT CAST(value AS INTEGER) FROM workbell_meta WHERE name = 'steps_done'), 0) = :step

-- forget_steps: the migration is complete
DELETE FROM workbell_meta WHERE name = 'steps_done'

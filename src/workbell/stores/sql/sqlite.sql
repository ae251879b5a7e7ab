-- The tables themselves, for engines that speak SQLite's SQL: read, and changed by a batch that begins with a guard.

-- has_tables: whether there are tables of Workbell
SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'workbell_meta'

-- schema_versions: the version of the tables, and the oldest code that can work with them
SELECT name, value FROM workbell_meta WHERE name IN ('schema_version', 'oldest_reader')

-- still_no_tables: a guard: one row as long as there are none
SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'workbell_meta')

-- still_at_version: a guard: one row as long as they are not migrated
SELECT 1 WHERE COALESCE((SELECT CAST(value AS INTEGER) FROM workbell_meta WHERE name = 'schema_version'), 0) = :version

-- note_meta: store the version and identity of the tables
INSERT INTO workbell_meta (name, value) VALUES (:name, :value) ON CONFLICT (name) DO UPDATE SET value = excluded.value

-- newest_run: the highest id of a run that was made until now; ids begin with the time
SELECT max(:first, coalesce((SELECT max(id) FROM workbell_runs WHERE id <= :latest), :first),
    coalesce((SELECT max(id) FROM workbell_history WHERE id <= :latest), :first))

-- store_identity: which store it is, and how far it is; without an index, to read no more pages than needed
SELECT name, value FROM workbell_meta NOT INDEXED WHERE name IN ('store_id', 'incarnation', 'checkpoints')

-- count_checkpoint: count one more checkpoint, so that older content can be told from newer
INSERT INTO workbell_meta (name, value) VALUES ('checkpoints', '1')
ON CONFLICT (name) DO UPDATE SET value = CAST(CAST(value AS INTEGER) + 1 AS TEXT)

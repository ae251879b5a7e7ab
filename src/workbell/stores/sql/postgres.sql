-- Overrides for PostgreSQL: batches as arrays, SKIP LOCKED, data-changing CTEs.
--
-- Statuses and tokens that guard a write come from the unnested arrays, not as constants. With a constant
-- `status = 'running'` the planner may take the small partial index of running rows for each row of the batch
-- (279 ms for 1,000 rows); compared with a column of the batch, only the primary key can serve.

-- time: the database's own clock
SELECT clock_timestamp()

-- position: where the database is: its cluster, its database and table, the segment and place of its log, its start
-- TRUNCATE, a restored table and a restored database have another file node.
SELECT (SELECT CAST(system_identifier AS text) FROM pg_control_system()) AS cluster,
    (SELECT CAST(oid AS text) FROM pg_database WHERE datname = current_database()) AS database,
    CAST(pg_relation_filenode(to_regclass('workbell_runs')) AS text) AS file,
    CASE WHEN NOT pg_is_in_recovery() THEN pg_walfile_name(pg_current_wal_insert_lsn()) END AS segment,
    CASE WHEN NOT pg_is_in_recovery() THEN CAST(pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') AS bigint) END AS place,
    CAST(extract(epoch FROM pg_postmaster_start_time()) AS text) AS server_start

-- position_by_file: the same for roles and services that may not read the log
SELECT '' AS cluster, (SELECT CAST(oid AS text) FROM pg_database WHERE datname = current_database()) AS database,
    CAST(pg_relation_filenode(to_regclass('workbell_runs')) AS text) AS file, '00000000' AS segment, 0 AS place,
    CAST(extract(epoch FROM pg_postmaster_start_time()) AS text) AS server_start

-- blocked_sessions: sessions that wait for a lock while they lock our tables, or for a tag, and the sessions that block them
SELECT waiting.pid, CAST(extract(epoch FROM clock_timestamp() - waiting.query_start) AS float8), blocker.pid
FROM pg_stat_activity waiting CROSS JOIN LATERAL unnest(pg_blocking_pids(waiting.pid)) AS blocker(pid)
WHERE waiting.datname = current_database() AND waiting.wait_event_type = 'Lock'
AND (waiting.query LIKE '%workbell tag%'
    OR waiting.pid IN (SELECT l.pid FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
        WHERE l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND c.relname LIKE 'workbell~_%' ESCAPE '~'))

-- idle_transactions: sessions that have our tables locked in a transaction, and have been idle for a while
SELECT a.pid FROM pg_stat_activity a
WHERE a.datname = current_database() AND a.state LIKE 'idle in transaction%'
AND a.state_change <= clock_timestamp() - make_interval(secs => :seconds)
AND a.pid IN (SELECT l.pid FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
    WHERE l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND c.relname LIKE 'workbell~_%' ESCAPE '~')

-- sessions: what some sessions are, and what they do
SELECT pid, application_name, COALESCE(host(client_addr), 'this machine'), state,
    CAST(extract(epoch FROM clock_timestamp() - state_change) AS float8), left(query, 1000)
FROM pg_stat_activity WHERE pid = ANY(CAST(:pids AS integer[]))

-- table_holders: the oldest open transactions that lock our tables, and so block a migration
SELECT a.pid, COALESCE(a.application_name, ''), COALESCE(a.state, ''),
    EXTRACT(epoch FROM clock_timestamp() - a.xact_start), COALESCE(a.query, '')
FROM pg_stat_activity a
WHERE a.pid <> pg_backend_pid() AND a.xact_start <= clock_timestamp() - make_interval(secs => :seconds)
    AND EXISTS (SELECT 1 FROM pg_locks l JOIN pg_class c ON c.oid = l.relation WHERE l.pid = a.pid AND l.granted
        AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND c.relname = ANY(CAST(:tables AS text[])))
ORDER BY a.xact_start LIMIT 3

-- end_stuck: ends our own sessions whose process is frozen in the middle of a message, with rows locked
-- No timeout of the server ends these, nor a cancel: the session waits for the rest of a COPY, or to send an answer.
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND usename = current_user AND pid <> pg_backend_pid() AND state = 'active'
    AND application_name = current_setting('application_name') AND backend_xid IS NOT NULL
    AND (wait_event = 'ClientRead' AND query LIKE 'COPY workbell_runs %'
        OR wait_event = 'ClientWrite' AND query LIKE '%workbell_%')
    AND query_start < clock_timestamp() - make_interval(secs => :seconds)

-- replication: whether this server is a standby, which standbys must confirm a commit, how many follow, how many of them confirm
-- How a standby follows is shown to members of pg_read_all_stats only: for others the last number is NULL.
SELECT pg_is_in_recovery(),
    CASE WHEN current_setting('synchronous_commit') IN ('off', 'local') THEN '' ELSE current_setting('synchronous_standby_names') END,
    count(*), CASE WHEN count(*) = count(sync_state) THEN count(*) FILTER (WHERE sync_state IN ('sync', 'quorum')) END
FROM pg_stat_replication WHERE application_name IS DISTINCT FROM 'pg_basebackup'

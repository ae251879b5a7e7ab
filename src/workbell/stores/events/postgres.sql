-- Events the way of PostgreSQL: batches as arrays, SKIP LOCKED.

-- take_events: mark those of these events that are not fanned out; without those that another scheduler has locked
-- By ctid, as in a claim: a join by id may read the whole table.
UPDATE workbell_events SET fanned_out_at = :now
WHERE ctid = ANY(ARRAY(SELECT e.ctid FROM workbell_events e
    WHERE e.id {among ids uuid} AND e.fanned_out_at IS NULL ORDER BY e.id FOR UPDATE SKIP LOCKED))
AND fanned_out_at IS NULL RETURNING id

-- delete_events: a batch of expired events; without those that a live run may still read
-- OFFSET 0: checked for each event by itself; a join would read all matches and all runs. Of matches no more than `parts`:
-- an event that has some left stays for the next batch, and the answer has a NULL.
WITH old AS MATERIALIZED (
    SELECT e.id FROM workbell_events e WHERE e.created_at <= :before AND e.fanned_out_at IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM workbell_matches m JOIN workbell_runs r ON r.id = m.run WHERE m.event = e.id OFFSET 0)
    ORDER BY e.created_at LIMIT :limit FOR UPDATE OF e SKIP LOCKED
), ours AS MATERIALIZED (
    SELECT m.ctid FROM old CROSS JOIN LATERAL (SELECT ctid FROM workbell_matches WHERE event = old.id FOR UPDATE) m
    LIMIT :parts
), cut AS MATERIALIZED (
    SELECT 1 WHERE (SELECT count(*) FROM ours) >= :parts
), matches AS (
    DELETE FROM workbell_matches WHERE ctid = ANY(ARRAY(SELECT ctid FROM ours))
), gone AS (
    DELETE FROM workbell_events e WHERE e.id = ANY(ARRAY(SELECT id FROM old))
    AND (NOT EXISTS (SELECT 1 FROM cut) OR (SELECT 1 FROM workbell_matches m WHERE m.event = e.id LIMIT 1) IS NULL)
    RETURNING e.id
)
SELECT id FROM gone UNION ALL SELECT NULL FROM cut

-- add_taken_matches: the matches of the events that this transaction has taken: its xid is in their rows
INSERT INTO workbell_matches ({match})
SELECT {match} FROM {rows new: event uuid, subscriber uuid, outcome text, created_at timestamptz, run uuid, reason text}
WHERE (SELECT e.xmin FROM workbell_events e WHERE e.id = new.event) = CAST(pg_current_xact_id() AS xid)

-- add_taken_runs: the runs of the events that this transaction has taken
INSERT INTO workbell_runs ({new_columns})
SELECT {new_columns} FROM {new_runs}
WHERE (SELECT e.xmin FROM workbell_events e WHERE e.id = new.event) = CAST(pg_current_xact_id() AS xid)

-- Events the way of PostgreSQL: batches as arrays, SKIP LOCKED.

-- take_events: these are fanned out now, those of them that were not; what another scheduler has in hand is left to it
-- By ctid, as a claim does: as a join by id, the whole table may be read for it.
UPDATE workbell_events SET fanned_out_at = :now
WHERE ctid = ANY(ARRAY(SELECT e.ctid FROM workbell_events e
    WHERE e.id {among ids uuid} AND e.fanned_out_at IS NULL ORDER BY e.id FOR UPDATE SKIP LOCKED))
AND fanned_out_at IS NULL RETURNING id

-- delete_events: a batch whose time is over; not those that a live run may still ask for
-- OFFSET 0: asked for each event by itself; as a join, all matches and all runs would be read for it.
WITH gone AS (
    DELETE FROM workbell_events WHERE id = ANY(ARRAY(SELECT e.id FROM workbell_events e
        WHERE e.created_at <= :before AND e.fanned_out_at IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM workbell_matches m JOIN workbell_runs r ON r.id = m.run WHERE m.event = e.id OFFSET 0)
        ORDER BY e.created_at LIMIT :limit FOR UPDATE OF e SKIP LOCKED)) RETURNING id
), matches AS (
    DELETE FROM workbell_matches WHERE event = ANY(ARRAY(SELECT id FROM gone))
)
SELECT id FROM gone

-- add_taken_matches: what those events matched that this very transaction has taken: its number is in their rows
INSERT INTO workbell_matches ({match})
SELECT {match} FROM {rows new: event uuid, subscriber uuid, outcome text, created_at timestamptz, run uuid, reason text}
WHERE (SELECT e.xmin FROM workbell_events e WHERE e.id = new.event) = CAST(pg_current_xact_id() AS xid)

-- add_taken_runs: and the runs that follow from them
INSERT INTO workbell_runs ({new_columns})
SELECT {new_columns} FROM {new_runs}
WHERE (SELECT e.xmin FROM workbell_events e WHERE e.id = new.event) = CAST(pg_current_xact_id() AS xid)

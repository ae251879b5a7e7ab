-- Events the way of PostgreSQL: batches as arrays, SKIP LOCKED.

-- take_events: these are fanned out now, those of them that were not; what another scheduler has in hand is left to it
-- By ctid, as a claim does: as a join by id, the whole table may be read for it.
UPDATE workbell_events SET fanned_out_at = :now
WHERE ctid = ANY(ARRAY(SELECT e.ctid FROM workbell_events e
    WHERE e.id = ANY(CAST(:ids AS uuid[])) AND e.fanned_out_at IS NULL ORDER BY e.id FOR UPDATE SKIP LOCKED))
AND fanned_out_at IS NULL RETURNING id

-- add_matches: what events matched
INSERT INTO workbell_matches ({match})
SELECT * FROM unnest(CAST(:event AS uuid[]), CAST(:subscriber AS uuid[]), CAST(:outcome AS text[]),
    CAST(:created_at AS timestamptz[]), CAST(:run AS uuid[]), CAST(:reason AS text[]))

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

-- put_match: a later run takes the place of an earlier one, if nothing else has
INSERT INTO workbell_matches ({match}) VALUES ({match_values})
ON CONFLICT (event, subscriber) DO UPDATE SET outcome = excluded.outcome, run = excluded.run, reason = excluded.reason
WHERE workbell_matches.run IS NOT DISTINCT FROM CAST(:before AS uuid) RETURNING event

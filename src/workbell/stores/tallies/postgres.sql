-- Tallies, the number of runs that ended by minute.

-- sum_tallies: what a tenant's minutes come to by steps of some seconds, which are counted from 1970 on
SELECT CAST(floor(extract(epoch FROM minute) / CAST(:step AS integer)) AS bigint) AS place, job, status,
    CAST(sum(count) AS bigint) FROM workbell_tallies
WHERE minute >= :since AND minute < :until AND tenant = :tenant AND (CAST(:job AS text) IS NULL OR job = :job)
AND (CAST(:queue AS text) IS NULL OR queue = :queue) GROUP BY place, job, status

-- delete_tallies: a batch of expired minutes; the totals stay
DELETE FROM workbell_tallies WHERE ctid = ANY(ARRAY(SELECT ctid FROM workbell_tallies
    WHERE minute > :total AND minute <= :before ORDER BY minute LIMIT :limit FOR UPDATE SKIP LOCKED)) RETURNING minute

-- add_tallies: added to what is there, in the order they come in, which is one for all; of buckets each to its like
INSERT INTO workbell_tallies ({tally_columns})
SELECT {tally_columns} FROM {rows new: minute timestamptz, tenant text, queue text, job text, status text, count bigint,
    seconds double precision, wait double precision, buckets text} WHERE true
ON CONFLICT (minute, tenant, queue, job, status) DO UPDATE SET count = workbell_tallies.count + excluded.count,
    seconds = workbell_tallies.seconds + excluded.seconds, wait = workbell_tallies.wait + excluded.wait,
    buckets = coalesce((SELECT CAST(json_agg(coalesce(CAST(ours.value AS bigint), 0)
        + coalesce(CAST(more.value AS bigint), 0) ORDER BY place) AS text)
        FROM json_array_elements_text(CAST(workbell_tallies.buckets AS json)) WITH ORDINALITY AS ours(value, place)
        FULL JOIN json_array_elements_text(CAST(excluded.buckets AS json)) WITH ORDINALITY AS more(value, place)
        USING (place)), '[]')

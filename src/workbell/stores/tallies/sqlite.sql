-- Tallies, the number of runs that ended by minute.

-- sum_tallies: what a tenant's minutes come to by steps of some seconds, which are counted from 1970 on
SELECT minute / (:step * 1000000) AS place, job, status, sum(count) FROM workbell_tallies
WHERE minute >= :since AND minute < :until AND tenant = :tenant AND (:job IS NULL OR job = :job)
AND (:queue IS NULL OR queue = :queue) GROUP BY place, job, status

-- delete_tallies: a batch of expired minutes; the totals stay
DELETE FROM workbell_tallies WHERE (minute, tenant, queue, job, status) IN (
    SELECT minute, tenant, queue, job, status FROM workbell_tallies WHERE minute > :total AND minute <= :before
    ORDER BY minute LIMIT :limit) RETURNING minute

-- add_tallies: added to what is there; of buckets, each to the one with the same index in the longer list
INSERT INTO workbell_tallies ({tally_columns})
SELECT {tally_columns} FROM {rows new: minute timestamptz, tenant text, queue text, job text, status text, count bigint,
    seconds double precision, wait double precision, buckets text} WHERE true
ON CONFLICT (minute, tenant, queue, job, status) DO UPDATE SET count = workbell_tallies.count + excluded.count,
    seconds = workbell_tallies.seconds + excluded.seconds, wait = workbell_tallies.wait + excluded.wait,
    buckets = (SELECT json_group_array(long.value + coalesce(short.value, 0)) FROM json_each(
        CASE WHEN json_array_length(workbell_tallies.buckets) < json_array_length(excluded.buckets)
        THEN excluded.buckets ELSE workbell_tallies.buckets END) AS long LEFT JOIN json_each(
        CASE WHEN json_array_length(workbell_tallies.buckets) < json_array_length(excluded.buckets)
        THEN workbell_tallies.buckets ELSE excluded.buckets END) AS short ON short.key = long.key)

-- Reports the way of SQLite.

-- recent_of_lanes: the newest finished runs of each lane; the index covers it
-- Without LATERAL: the ids of a lane become a JSON array, which is unpacked again.
SELECT wanted.lane, h.value FROM {rows wanted: lane bigint, oldest uuid}
CROSS JOIN json_each((SELECT json_group_array(newest.id) FROM (SELECT id FROM workbell_history
    WHERE lane = wanted.lane AND id >= wanted.oldest ORDER BY id DESC LIMIT :limit) AS newest)) AS h

-- lanes_of_jobs: lanes of some jobs, up to `most` of each, with the newest of their finished runs
SELECT wanted.job, l.value, (SELECT h.id FROM workbell_history h WHERE h.lane = l.value ORDER BY h.id DESC LIMIT 1)
FROM {rows wanted: job text}
CROSS JOIN json_each((SELECT json_group_array(some.id) FROM (SELECT id FROM workbell_lanes
    WHERE tenant = :tenant AND job = wanted.job LIMIT :most) AS some)) AS l

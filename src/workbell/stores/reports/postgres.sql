-- Reports the way of PostgreSQL.

-- recent_of_lanes: the newest finished runs of each lane; the index covers it
SELECT wanted.lane, h.id FROM {rows wanted: lane bigint, oldest uuid}
CROSS JOIN LATERAL (SELECT id FROM workbell_history
    WHERE lane = wanted.lane AND id >= wanted.oldest ORDER BY id DESC LIMIT :limit) h

-- lanes_of_jobs: lanes of some jobs, up to `most` of each, with the newest of their finished runs
SELECT wanted.job, l.id, (SELECT h.id FROM workbell_history h WHERE h.lane = l.id ORDER BY h.id DESC LIMIT 1)
FROM {rows wanted: job text} CROSS JOIN LATERAL (SELECT id FROM workbell_lanes
    WHERE tenant = :tenant AND job = wanted.job LIMIT :most) l

-- follow_indexes: planner settings for the rest of a transaction: rows are found by indexes, in their order
-- Until a table is analysed, PostgreSQL knows only its size, and sorts a million rows to return fifty. Once it is, it
-- assumes that a value is spread evenly, and walks along the ids for the runs of a job that are all old (1.6 s).
-- With page costs of 0, the plan that reads the fewest rows is always cheapest. JIT is off: disabled plan nodes carry a
-- huge cost, which would trigger it.
SELECT set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
    set_config('enable_sort', 'off', true), set_config('jit', 'off', true),
    set_config('random_page_cost', '0', true), set_config('seq_page_cost', '0', true)

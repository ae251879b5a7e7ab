-- Tallies, the number of runs that ended by minute.

-- totals: the sums since the beginning: one row for each job in a queue and status
SELECT {tally_columns} FROM workbell_tallies WHERE minute = :minute

-- export_tallies: all tallies, in the order of their key
SELECT {tally_columns} FROM workbell_tallies
WHERE (minute, tenant, queue, job, status) > (:minute, :tenant, :queue, :job, :status)
ORDER BY minute, tenant, queue, job, status LIMIT :limit

-- load_tallies: those of another store; where there is one already, it stays as it is
INSERT INTO workbell_tallies ({tally_columns})
SELECT {tally_columns} FROM {rows new: minute timestamptz, tenant text, queue text, job text, status text, count bigint,
    seconds double precision, wait double precision, buckets text} WHERE true ON CONFLICT DO NOTHING

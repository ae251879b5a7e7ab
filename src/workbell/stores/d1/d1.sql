-- What D1 has beside SQLite's queries. Its tables are made in several batches: a batch takes no more than 40 statements.

-- is_making: whether tables are being made: somebody has begun, and whoever comes goes on with it
SELECT 1 FROM workbell_meta WHERE name = 'making'

-- made: the tables are complete
DELETE FROM workbell_meta WHERE name = 'making'

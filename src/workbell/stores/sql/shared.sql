-- Queries that every SQL store has in common. Time is always a parameter. Statuses and tokens that guard a write
-- come in as data, from the state machine. The engine files override by name.

-- store_id: the identity of this store, to recognise it on a caller's connection
SELECT value FROM workbell_meta WHERE name = 'store_id'

-- hold_limits: those that are unchanged since they were read; with one writer at a time, they stay so
SELECT seen.id FROM {rows seen: id bigint, starts text}
WHERE COALESCE((SELECT l.starts FROM workbell_limits l WHERE l.id = seen.id), '[]') = seen.starts

-- hold_limits: those that are as they were seen; one writes at a time, so they stay so
SELECT seen.id FROM {rows seen: id bigint, starts text}
WHERE COALESCE((SELECT l.starts FROM workbell_limits l WHERE l.id = seen.id), '[]') = seen.starts

-- Notifications, and who has read them.

-- read_some: a person has read these
INSERT INTO workbell_reads ({read_columns})
SELECT n.tenant, :user_id, n.id, :now FROM workbell_notifications n
WHERE n.id = ANY(CAST(:ids AS uuid[])) AND n.tenant = :tenant AND (n.user_id = :user_id OR n.user_id IS NULL)
ORDER BY n.id ON CONFLICT DO NOTHING RETURNING notification

-- delete_notifications: a batch of expired notifications, with their read marks
-- Of marks no more than `parts`: a notification that has some left stays for the next batch, and the answer has a NULL.
WITH old AS MATERIALIZED (
    SELECT id FROM workbell_notifications WHERE created_at <= :before ORDER BY created_at LIMIT :limit FOR UPDATE SKIP LOCKED
), marks AS MATERIALIZED (
    SELECT r.ctid FROM old CROSS JOIN LATERAL (SELECT ctid FROM workbell_reads WHERE notification = old.id OFFSET 0) r
    LIMIT :parts
), cut AS MATERIALIZED (
    SELECT 1 WHERE (SELECT count(*) FROM marks) >= :parts
), reads AS (
    DELETE FROM workbell_reads WHERE ctid = ANY(ARRAY(SELECT ctid FROM marks))
), gone AS (
    DELETE FROM workbell_notifications n WHERE n.id = ANY(ARRAY(SELECT id FROM old))
    AND (NOT EXISTS (SELECT 1 FROM cut) OR (SELECT 1 FROM workbell_reads r WHERE r.notification = n.id LIMIT 1) IS NULL)
    RETURNING n.id
)
SELECT id FROM gone UNION ALL SELECT NULL FROM cut

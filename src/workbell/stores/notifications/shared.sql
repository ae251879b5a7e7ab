-- Notifications, and who has read them.

-- list_notifications: a person's own and everybody's, newest first, with the person's read mark
-- Each half is a walk along the index; ordered by all its columns, because PostgreSQL does not infer that they are equal.
SELECT n.id, n.tenant, n.user_id, n.data, n.created_at, n.user_text,
    (SELECT r.at FROM workbell_reads r WHERE r.notification = n.id AND r.user_id = :user_id) AS read_at
FROM (
    SELECT * FROM (SELECT {notification_columns} FROM workbell_notifications
        WHERE tenant = :tenant AND user_id = :user_id AND id < :before
        ORDER BY tenant DESC, user_id DESC, id DESC LIMIT :limit) AS own
    UNION ALL
    SELECT * FROM (SELECT {notification_columns} FROM workbell_notifications
        WHERE tenant = :tenant AND user_id IS NULL AND id < :before
        ORDER BY tenant DESC, user_id DESC, id DESC LIMIT :limit) AS everybodys
) AS n ORDER BY n.id DESC LIMIT :limit

-- list_unread: the same without those that the person has read
-- Scalar subqueries: each is a lookup by primary key, and can never become a hash of a whole table.
SELECT n.id, n.tenant, n.user_id, n.data, n.created_at, n.user_text, NULL AS read_at
FROM (
    SELECT * FROM (SELECT {notification_columns} FROM workbell_notifications m
        WHERE tenant = :tenant AND user_id = :user_id AND id < :before
        AND (SELECT 1 FROM workbell_reads r WHERE r.notification = m.id AND r.user_id = :user_id LIMIT 1) IS NULL
        ORDER BY tenant DESC, user_id DESC, id DESC LIMIT :limit) AS own
    UNION ALL
    SELECT * FROM (SELECT {notification_columns} FROM workbell_notifications m
        WHERE tenant = :tenant AND user_id IS NULL AND id < :before
        AND (SELECT 1 FROM workbell_reads r WHERE r.notification = m.id AND r.user_id = :user_id LIMIT 1) IS NULL
        ORDER BY tenant DESC, user_id DESC, id DESC LIMIT :limit) AS everybodys
) AS n ORDER BY n.id DESC LIMIT :limit

-- new_notifications: those of all tenants and people beyond an id
SELECT {notification_columns}, NULL AS read_at FROM workbell_notifications WHERE id > :after ORDER BY id LIMIT :limit

-- read_all: a person has read everything: a batch of what is unread beyond an id, oldest first
INSERT INTO workbell_reads ({read_columns})
SELECT n.tenant, :user_id, n.id, :now FROM (
    SELECT * FROM (SELECT tenant, id FROM workbell_notifications m
        WHERE tenant = :tenant AND user_id = :user_id AND id > :after
        AND (SELECT 1 FROM workbell_reads r WHERE r.notification = m.id AND r.user_id = :user_id LIMIT 1) IS NULL
        ORDER BY tenant, user_id, id LIMIT :limit) AS own
    UNION ALL
    SELECT * FROM (SELECT tenant, id FROM workbell_notifications m
        WHERE tenant = :tenant AND user_id IS NULL AND id > :after
        AND (SELECT 1 FROM workbell_reads r WHERE r.notification = m.id AND r.user_id = :user_id LIMIT 1) IS NULL
        ORDER BY tenant, user_id, id LIMIT :limit) AS everybodys
) AS n WHERE true ORDER BY n.id LIMIT :limit ON CONFLICT DO NOTHING RETURNING notification

-- export_reads: all read marks, by notification and person
SELECT {read_columns} FROM workbell_reads WHERE (notification, user_id) > (:after, :after_user)
ORDER BY notification, user_id LIMIT :limit

-- load_read: a read mark of another store, if what was read is here
INSERT INTO workbell_reads ({read_columns})
SELECT n.tenant, :user_id, n.id, :at FROM workbell_notifications n WHERE n.id = :notification AND n.tenant = :tenant
ON CONFLICT DO NOTHING

-- add_notifications: many notifications
INSERT INTO workbell_notifications ({notification_columns})
SELECT {notification_columns} FROM {rows new: id uuid, tenant text, user_id bigint, data text, created_at timestamptz,
    user_text text} WHERE true ON CONFLICT DO NOTHING

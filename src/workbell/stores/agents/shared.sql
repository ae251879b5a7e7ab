-- The registry of agents.

-- see_agent: note a sign of life, with what the agent reported of itself, if it did
UPDATE workbell_agents SET seen_at = :now, jobs = coalesce(:jobs, jobs), metrics = coalesce(:metrics, metrics)
WHERE id = :id

-- find_agent: one agent
SELECT {agent_columns} FROM workbell_agents WHERE id = :id

-- agents: all agents, of all tenants: one row for each that was paired
SELECT {agent_columns} FROM workbell_agents

-- list_agents: those of one tenant; few, as each was paired by hand
SELECT {agent_columns} FROM workbell_agents WHERE tenant = :tenant

-- delete_agent: remove an agent
DELETE FROM workbell_agents WHERE id = :id RETURNING created_at

-- put_agent: make an agent known, or change what is known of it; an error, if another one of the tenant has its name
INSERT INTO workbell_agents ({agent_columns}) VALUES ({agent_values})
ON CONFLICT (id) DO UPDATE SET tenant = excluded.tenant, name = excluded.name, labels = excluded.labels,
    jobs = excluded.jobs, version = excluded.version, host = excluded.host, metrics = excluded.metrics,
    enabled = excluded.enabled, seen_at = excluded.seen_at

-- load_agent: an agent of another store, if its name is free
INSERT INTO workbell_agents ({agent_columns}) VALUES ({agent_values}) ON CONFLICT DO NOTHING

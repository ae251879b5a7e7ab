-- A tag's runs by lane, and a tenant's lanes in their order: where both are walked together, another tenant's runs of the
-- same tag are passed over.

-- The DROP comes first: of all this only it waits for those who read, and gives up soon.
DROP INDEX workbell_runs_tag;
CREATE INDEX workbell_runs_tag ON workbell_runs (tag, lane) WHERE tag IS NOT NULL;
CREATE INDEX workbell_lanes_tenant ON workbell_lanes (tenant, id);

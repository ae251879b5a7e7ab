-- Jobs as data: definitions, made by the API, beside the jobs that code declares.

-- `code` or `api`. Code of before declares jobs without naming it.
ALTER TABLE workbell_jobs ADD COLUMN source text NOT NULL DEFAULT 'code';
ALTER TABLE workbell_jobs ADD COLUMN version integer NOT NULL DEFAULT 1;

-- Raised by one with every change of a definition.
INSERT INTO workbell_meta (name, value) VALUES ('definitions', '0');

-- Facts that were published to the journal (core, section 16). What was observed stands in the event; here stands what finds
-- a repetition, and what others refer to.
create table observations (
  id uuid primary key,
  event_id uuid not null,
  tenant_id uuid not null references tenants,
  created_by uuid not null,
  kind text not null,
  source text,
  dedup_key text,
  task_id uuid,
  run_id uuid,
  workspace_id uuid,
  recorded_at timestamptz(3) not null default clock_timestamp(),
  check (dedup_key is null or source is not null)
);
-- The author is a part of the key: nobody can keep another's observation out.
create unique index observations_once on observations (tenant_id, created_by, source, dedup_key) where dedup_key is not null;
create unique index observations_by_event on observations (event_id);

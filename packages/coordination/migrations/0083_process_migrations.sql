-- Which instances go on by a later version of their definition, and how far they are (organisation, section 15.2).
create table process_migrations (
  id uuid primary key,
  tenant_id uuid not null references tenants,
  definition_key text not null,
  from_version integer not null,
  to_version integer not null check (to_version > from_version),
  -- What elements whose ids have changed are called; null for those that are gone.
  map jsonb not null,
  published_at timestamptz(3) not null default clock_timestamp(),
  migrated integer not null default 0,
  refused integer not null default 0,
  -- When the worker looks for more; null where all that there can be were found.
  next_at timestamptz(3) default clock_timestamp(),
  unique (tenant_id, definition_key, from_version)
);
create index process_migrations_due on process_migrations (next_at, id) where next_at is not null;

-- Migrations to versions up to this one leave the instance as it is: it could not take them, or who called it named its version.
alter table process_instances add column stays_until integer not null default 0;
create index process_instances_open_of_version on process_instances (tenant_id, definition_key, definition_version, stays_until, id)
  where status in ('running', 'suspended');

-- Definitions of processes (organisation, section 15.1). A version never changes, but for whether it is the latest; what a
-- key is stands in the row of its latest version.
create table process_definitions (
  id uuid primary key,
  tenant_id uuid not null references tenants,
  workspace_id uuid references workspaces,
  key text not null,
  version integer not null check (version > 0),
  definition_hash text not null,
  identity_agent text not null,
  governed_by text[] not null,
  expression_profile text not null,
  engine_revision integer not null,
  spec jsonb not null,
  warnings jsonb not null,
  is_latest boolean not null default true,
  status text not null default 'active' check (status in ('active', 'retired')),
  retired_at timestamptz(3),
  retired_by uuid references principals,
  retired_reason text,
  created_by uuid not null references principals,
  created_at timestamptz(3) not null default now(),
  unique (tenant_id, key, version),
  check ((status = 'retired') = (retired_at is not null)),
  check ((retired_at is null) = (retired_by is null) and (retired_at is null) = (retired_reason is null))
);
create unique index process_definitions_latest on process_definitions (tenant_id, key) where is_latest;
create index process_definitions_newest on process_definitions (tenant_id, created_at desc, id desc) where is_latest;
create index process_definitions_retired on process_definitions (tenant_id, created_at desc, id desc)
  where is_latest and status = 'retired';
create index process_definitions_of_place on process_definitions
  ((coalesce(workspace_id, tenant_id)), created_at desc, id desc);
create index process_definitions_of_workspace on process_definitions (workspace_id, created_at desc, id desc)
  where workspace_id is not null and is_latest;

-- One row per key, to lock while a version is published or the key is retired.
create table process_keys (
  tenant_id uuid not null references tenants,
  key text not null,
  primary key (tenant_id, key)
);

-- What the latest version of a key leans on, to be found by that: calendars, and documents that govern it.
create table process_references (
  tenant_id uuid not null,
  kind text not null check (kind in ('calendar', 'document')),
  name text not null,
  key text not null,
  primary key (tenant_id, kind, name, key),
  foreign key (tenant_id, key) references process_keys on delete cascade
);
create index process_references_of_key on process_references (tenant_id, key);

-- Production calendars (organisation, section 16). A version never changes; what can change is its key.
create table calendar_versions (
  id uuid primary key,
  tenant_id uuid not null references tenants,
  key text not null,
  version integer not null check (version > 0),
  calendar_hash text not null,
  spec jsonb not null,
  provisional_years integer[] not null,
  created_by uuid not null references principals,
  created_at timestamptz(3) not null default now(),
  unique (tenant_id, key, version)
);

-- One row per key: its newest version, by which keys are listed, and whether it is retired.
create table calendars (
  tenant_id uuid not null references tenants,
  key text not null,
  id uuid not null,
  version integer not null check (version > 0),
  created_at timestamptz(3) not null,
  status text not null default 'active' check (status in ('active', 'retired')),
  retired_at timestamptz(3),
  retired_by uuid references principals,
  retired_reason text,
  primary key (tenant_id, key),
  check ((status = 'retired') = (retired_at is not null)),
  check ((retired_at is null) = (retired_by is null) and (retired_at is null) = (retired_reason is null))
);
create index calendars_newest on calendars (tenant_id, created_at desc, id desc);

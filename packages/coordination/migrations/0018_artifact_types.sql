-- What artifacts of one type must be (core, section 15). A version never changes; the next one is a row of its own.
create table artifact_types (
  id uuid primary key,
  tenant_id uuid not null references tenants,
  key text not null,
  version integer not null,
  display_name text not null,
  description text not null default '',
  metadata_schema jsonb not null default '{}',
  -- Such as image/png, image/* or */*, in lower case.
  media_types text[] not null,
  -- null leaves it to the limit of the service
  max_bytes bigint check (max_bytes > 0),
  created_by uuid not null references principals,
  created_at timestamptz(3) not null default now(),
  unique (tenant_id, key, version)
);
create index artifact_types_newest on artifact_types (tenant_id, created_at desc, id desc);

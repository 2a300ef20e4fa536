-- What a task is called in other systems (organisation, section 6).
create table external_references (
  id uuid primary key,
  tenant_id uuid not null references tenants,
  entity_type text not null check (entity_type = 'task'),
  entity_id uuid not null references tasks,
  external_system text not null,
  external_type text not null,
  external_id text not null,
  -- The SHA-256 of the three above, made by the program: together they can be longer than an entry of an index.
  reference_key text not null,
  metadata jsonb not null default '{}',
  version integer not null default 1,
  created_by uuid not null references principals,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  unique (tenant_id, reference_key)
);
create index external_references_of_entity on external_references (tenant_id, entity_id, created_at desc, id desc);

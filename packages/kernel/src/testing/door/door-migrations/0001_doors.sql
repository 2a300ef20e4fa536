-- The store of the service that the kernel's own tests are made of.
create table doors (
  id uuid primary key,
  tenant_id uuid not null,
  label text not null,
  opened integer not null default 0,
  settings jsonb not null default '{}',
  version integer not null default 1,
  created_at timestamptz(3) not null default now()
);

create table idempotency_keys (
  tenant_id uuid not null,
  key text not null,
  fingerprint text not null,
  status integer,
  body json,
  expires_at timestamptz(3) not null,
  primary key (tenant_id, key)
);

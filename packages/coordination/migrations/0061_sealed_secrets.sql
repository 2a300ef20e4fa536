-- Secrets of agents and connections where no outside store is set up (organisation, section 28, "secret store"). Each is
-- sealed by a key that is never in the database: AES-256-GCM, bound to the three columns of the primary key.
create table sealed_secrets (
  tenant_id uuid not null references tenants (id),
  folder text not null,
  name text not null,
  key_id text not null,
  sealed bytea not null,
  updated_at timestamptz(3) not null default now(),
  primary key (tenant_id, folder, name)
);

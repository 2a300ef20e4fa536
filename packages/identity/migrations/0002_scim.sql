-- Who may write people and groups: a SCIM client, or a directory that is read. One per identity provider.
create table provisioning_sources (
  id uuid primary key,
  tenant_id uuid not null references tenants,
  key text not null,
  kind text not null check (kind in ('scim', 'ldap')),
  identity_provider_id uuid not null references identity_providers,
  service_principal_id uuid references principals,
  upstream_mode text not null check (upstream_mode in ('off', 'scim', 'admin', 'auto')),
  upstream_base_url text not null,
  upstream_realm text not null,
  status text not null default 'active' check (status in ('active', 'disabled')),
  stale_after_seconds integer not null,
  last_sync_at timestamptz(3),
  -- set when it was found stale, cleared by the next write: one alert per episode
  stale_detected_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  constraint provisioning_sources_key unique (tenant_id, key),
  constraint provisioning_sources_provider unique (identity_provider_id),
  constraint provisioning_sources_principal unique (service_principal_id)
);

create table provisioning_tokens (
  id uuid primary key,
  tenant_id uuid not null references tenants,
  provisioning_source_id uuid not null references provisioning_sources,
  name text not null,
  public_prefix text not null constraint provisioning_tokens_prefix unique,
  secret_hash text not null constraint provisioning_tokens_secret unique,
  created_at timestamptz(3) not null default now(),
  expires_at timestamptz(3) not null,
  revoked_at timestamptz(3),
  idempotency_key text,
  idempotency_fingerprint text,
  constraint provisioning_tokens_idempotency_key unique (provisioning_source_id, idempotency_key)
);

-- What has rules of its own is a column; every other attribute of the schemas is in the document, under its canonical name.
create table scim_users (
  id uuid primary key,
  provisioning_source_id uuid not null references provisioning_sources,
  tenant_id uuid not null references tenants,
  principal_id uuid not null references principals,
  external_identity_id uuid not null references external_identities,
  user_name text not null,
  external_id text,
  display_name text,
  active boolean not null,
  document jsonb not null,
  version integer not null default 1,
  created_at timestamptz(3) not null default now(),
  modified_at timestamptz(3) not null default now(),
  constraint scim_users_principal unique (provisioning_source_id, principal_id)
);
-- In the byte order that filters compare in, so that they serve equality and beginnings of names alike.
create unique index scim_users_user_name on scim_users (provisioning_source_id, (lower(user_name) collate "C"));
create unique index scim_users_external_id on scim_users (provisioning_source_id, (external_id collate "C"));
create index scim_users_display_name on scim_users (provisioning_source_id, (lower(display_name) collate "C"));
create index scim_users_created on scim_users (provisioning_source_id, created_at, id);
create index scim_users_identity on scim_users (external_identity_id);

-- The members are rows of group_members: a change of one touches one row.
create table scim_groups (
  id uuid primary key,
  provisioning_source_id uuid not null references provisioning_sources,
  tenant_id uuid not null references tenants,
  group_id uuid not null unique references groups,
  display_name text not null,
  external_id text,
  version integer not null default 1,
  created_at timestamptz(3) not null default now(),
  modified_at timestamptz(3) not null default now()
);
create unique index scim_groups_display_name on scim_groups (provisioning_source_id, (lower(display_name) collate "C"));
create unique index scim_groups_external_id on scim_groups (provisioning_source_id, (external_id collate "C"));
create index scim_groups_created on scim_groups (provisioning_source_id, created_at, id);

-- Connection types and connections (organisation, section 13). Their secrets are in the store of secrets: a row has the name
-- under which the store keeps it.
create table connection_types (
  id uuid primary key,
  tenant_id uuid not null references tenants (id),
  key text not null,
  version integer not null,
  status text not null default 'active' check (status in ('active', 'deprecated', 'disabled')),
  spec json not null,
  spec_hash text not null,
  row_version integer not null default 1,
  created_by uuid not null,
  created_at timestamptz(3) not null default now(),
  unique (tenant_id, key, version)
);
create index connection_types_newest on connection_types (tenant_id, created_at desc, id desc);
create index connection_types_by_status on connection_types (tenant_id, status, created_at desc, id desc);

create table connection_oauth_apps (
  tenant_id uuid not null references tenants (id),
  type_key text not null,
  client_id text not null,
  secret_name text not null,
  version integer not null default 1,
  updated_at timestamptz(3) not null default now(),
  primary key (tenant_id, type_key)
);

create table connections (
  id uuid primary key,
  tenant_id uuid not null references tenants (id),
  key text not null,
  type_key text not null,
  type_version integer not null,
  display_name text not null,
  account text,
  auth text check (auth in ('oauth2', 'token')),
  status text not null default 'pending' check (status in ('pending', 'active', 'expired', 'revoked')),
  status_reason text,
  status_message text,
  settings json not null,
  -- What the store of secrets calls the credential in the folder connections/<id>; null without one.
  secret_name text,
  -- Raised by whatever ends an authorization that is under way.
  authorization_epoch integer not null default 0,
  expires_at timestamptz(3),
  connected_by uuid,
  connected_at timestamptz(3),
  last_checked_at timestamptz(3),
  created_by uuid not null,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  version integer not null default 1,
  unique (tenant_id, key),
  foreign key (tenant_id, type_key, type_version) references connection_types (tenant_id, key, version)
);
create index connections_newest on connections (tenant_id, created_at desc, id desc);
create index connections_by_type on connections (tenant_id, type_key, created_at desc, id desc);
create index connections_by_status on connections (tenant_id, status, created_at desc, id desc);
create index connections_expiring on connections (expires_at, id) where status = 'active' and expires_at is not null;

-- What a provider calls back with: the SHA-256 of the state, until it is used. A connection has one at a time.
create table connection_authorizations (
  connection_id uuid primary key references connections (id),
  tenant_id uuid not null references tenants (id),
  state_hash text not null unique,
  epoch integer not null,
  initiated_by json not null,
  secret_name text not null,
  expires_at timestamptz(3) not null
);

-- Secrets in an outside store that nothing uses, or that a command is about to write: the worker deletes them when due.
create table secret_leftovers (
  tenant_id uuid not null references tenants (id),
  folder text not null,
  name text not null,
  due_at timestamptz(3) not null,
  primary key (tenant_id, folder, name)
);
create index secret_leftovers_due on secret_leftovers (due_at, tenant_id, folder, name);

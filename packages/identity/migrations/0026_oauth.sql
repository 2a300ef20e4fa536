-- Grants of people to OAuth clients. A grant is a credential of the person (or of an agent that the person connects): it is listed,
-- exchanged and revoked like a platform access token, and has no secret of its own.
alter table platform_access_tokens drop constraint platform_access_tokens_kind_check;
alter table platform_access_tokens add constraint platform_access_tokens_kind_check
  check (kind in ('platform_access_token', 'legacy_control_plane_api_key', 'oauth_grant'));

create table oauth_grants (
  credential_id uuid primary key references platform_access_tokens,
  tenant_id uuid not null references tenants,
  -- Who consented; the principal of the credential, unless that is an agent.
  granted_by uuid not null references principals,
  client_id text not null,
  resource text not null,
  created_at timestamptz(3) not null default now()
);
create index oauth_grants_of_person on oauth_grants (granted_by, created_at, credential_id);

-- Clients that an administrator has registered. Others are described by a document at their id (a URL).
create table oauth_clients (
  id uuid primary key,
  tenant_id uuid not null references tenants,
  client_id text not null constraint oauth_clients_client_id unique,
  name text not null,
  redirect_uris text[] not null,
  created_at timestamptz(3) not null default now()
);
create index oauth_clients_of_tenant on oauth_clients (tenant_id, created_at, id);

-- Codes and refresh tokens. Handles are stored as SHA-256 only.
create table oauth_handles (
  kind text not null constraint oauth_handles_kind_check check (kind in ('AuthorizationCode', 'RefreshToken', 'DeviceCode')),
  handle_hash text not null,
  user_code_hash text constraint oauth_handles_user_code unique,
  -- Null for a device code that nobody has approved yet.
  credential_id uuid references platform_access_tokens,
  -- Whom the limit of pending device codes counts: a client's address or network.
  requested_by text,
  payload jsonb not null,
  created_at timestamptz(3) not null default now(),
  expires_at timestamptz(3) not null,
  consumed_at timestamptz(3),
  polled_at timestamptz(3),
  primary key (kind, handle_hash)
);
create index oauth_handles_of_credential on oauth_handles (credential_id, kind, created_at) where credential_id is not null;
create index oauth_handles_by_expiry on oauth_handles (expires_at);
create index oauth_handles_pending on oauth_handles (requested_by) where kind = 'DeviceCode' and requested_by is not null;

-- People who may connect clients as an agent.
create table agent_connectors (
  agent_id uuid not null references principals,
  person_id uuid not null references principals,
  tenant_id uuid not null references tenants,
  created_at timestamptz(3) not null default now(),
  primary key (agent_id, person_id, tenant_id)
);
create index agent_connectors_of_person on agent_connectors (person_id, tenant_id);

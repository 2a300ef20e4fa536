-- Instants are timestamptz(3): what the wire shows is exactly what is stored. Lists are kept sorted and without repeats.

create table tenants (
  id uuid primary key,
  slug text not null unique,
  name text not null,
  status text not null default 'active' check (status in ('active', 'disabled')),
  created_at timestamptz(3) not null default now()
);

-- A principal is one person, agent or program; a membership makes it visible in a tenant.
create table principals (
  id uuid primary key,
  kind text not null check (kind in ('human', 'agent', 'service_account', 'workload')),
  display_name text not null,
  status text not null default 'active' check (status in ('active', 'paused', 'disabled')),
  created_at timestamptz(3) not null default now()
);

create table memberships (
  tenant_id uuid not null references tenants,
  principal_id uuid not null references principals,
  status text not null default 'active' check (status in ('active', 'disabled')),
  created_at timestamptz(3) not null default now(),
  primary key (tenant_id, principal_id)
);
create index memberships_of_principal on memberships (principal_id);

create table identity_providers (
  id uuid primary key,
  tenant_id uuid not null references tenants,
  key text not null,
  -- without trailing slashes; what was registered stands beside it
  issuer text not null,
  registered_issuer text not null,
  audience text not null,
  jwks_uri text not null default '',
  subject_claim text not null default 'sub',
  external_id_claim text not null default 'sub',
  group_claim text not null default 'groups',
  group_mappings jsonb not null default '{}',
  required_acr_values text[] not null default '{}',
  required_amr_values text[] not null default '{}',
  lifecycle_profile text not null default 'read_only' check (lifecycle_profile in ('read_only', 'managed')),
  jwks_cache_ttl_seconds integer not null default 300,
  jwks_stale_grace_seconds integer not null default 900,
  status text not null default 'active' check (status in ('active', 'disabled')),
  created_at timestamptz(3) not null default now(),
  constraint identity_providers_key unique (tenant_id, key),
  constraint identity_providers_issuer unique (tenant_id, issuer)
);

create table external_identities (
  id uuid primary key,
  -- the tenant that it was made through; the person is the same in every tenant
  tenant_id uuid not null references tenants,
  principal_id uuid not null references principals,
  issuer text not null,
  subject text not null,
  status text not null default 'active' check (status in ('active', 'disabled')),
  source text not null check (source in ('manual', 'federated', 'provisioned')),
  identity_provider_id uuid references identity_providers,
  external_id text not null default '',
  last_sign_in_at timestamptz(3),
  last_acr text,
  created_at timestamptz(3) not null default now()
);
create unique index external_identities_subject on external_identities (rtrim(issuer, '/'), subject);
create unique index external_identities_external_id on external_identities (identity_provider_id, external_id)
  where external_id <> '';
create index external_identities_of_principal on external_identities (principal_id);

create table authentication_contexts (
  id uuid primary key,
  tenant_id uuid not null references tenants,
  principal_id uuid not null references principals,
  external_identity_id uuid references external_identities,
  issuer text not null,
  acr text,
  amr text[] not null,
  auth_time timestamptz(3) not null,
  source text not null check (source in ('bootstrap', 'federation')),
  recorded_at timestamptz(3) not null default now()
);
create index authentication_contexts_newest on authentication_contexts (tenant_id, principal_id, recorded_at desc);

create table audiences (
  id uuid primary key,
  tenant_id uuid not null references tenants,
  key text not null,
  allowed_scopes text[] not null,
  status text not null default 'active' check (status in ('active', 'disabled')),
  created_at timestamptz(3) not null default now(),
  constraint audiences_key unique (tenant_id, key)
);

create table groups (
  id uuid primary key,
  tenant_id uuid not null references tenants,
  key text not null,
  name text not null,
  status text not null default 'active' check (status in ('active', 'disabled')),
  source text not null check (source in ('local', 'federated', 'scim')),
  created_at timestamptz(3) not null default now(),
  constraint groups_key unique (tenant_id, key)
);

create table group_members (
  id uuid primary key,
  tenant_id uuid not null references tenants,
  group_id uuid not null references groups,
  principal_id uuid not null references principals,
  source text not null check (source in ('local', 'federated', 'scim')),
  identity_provider_id uuid references identity_providers,
  created_at timestamptz(3) not null default now(),
  constraint group_members_principal unique (group_id, principal_id)
);
create index group_members_of_principal on group_members (principal_id);

create table service_accounts (
  id uuid primary key,
  tenant_id uuid not null references tenants,
  principal_id uuid not null unique references principals,
  client_id text not null unique,
  -- scheme and hash, 'sha256:<hex>': the secret has 256 random bits, so a slow hash would protect nothing
  secret_hash text not null,
  audiences text[] not null,
  scope_ceiling text[] not null,
  last_used_at timestamptz(3),
  revoked_at timestamptz(3),
  created_at timestamptz(3) not null default now()
);
create index service_accounts_of_tenant on service_accounts (tenant_id, created_at);

create table platform_access_tokens (
  id uuid primary key,
  tenant_id uuid not null references tenants,
  principal_id uuid not null references principals,
  kind text not null check (kind in ('platform_access_token', 'legacy_control_plane_api_key')),
  name text not null,
  public_prefix text not null constraint platform_access_tokens_prefix unique,
  secret_hash text not null constraint platform_access_tokens_secret unique,
  audiences text[] not null,
  scope_ceiling text[] not null,
  -- how it came to be, and the sign-in it rests on: copied when it is rotated
  origin text not null check (origin in ('sign_in', 'agent', 'migration')),
  authentication_context_id uuid references authentication_contexts,
  auth_issuer text,
  acr text,
  amr text[],
  auth_time timestamptz(3),
  created_at timestamptz(3) not null default now(),
  expires_at timestamptz(3) not null,
  last_used_at timestamptz(3),
  revoked_at timestamptz(3),
  revoke_reason text not null default '',
  rotated_from_id uuid references platform_access_tokens,
  -- an answered Idempotency-Key lives as long as its credential; issue and rotate share the names
  idempotency_key text,
  idempotency_fingerprint text,
  constraint platform_access_tokens_key unique (tenant_id, idempotency_key)
)
-- last_used_at changes most: room on the page keeps such an update off the indexes
with (fillfactor = 80);
create index platform_access_tokens_of_tenant on platform_access_tokens (tenant_id, created_at, id);
create index platform_access_tokens_live on platform_access_tokens (principal_id) where revoked_at is null;

-- The key that was last used under a name, so that another key under the same name is noticed.
create table signing_keys (
  kid text primary key,
  thumbprint text not null,
  first_seen_at timestamptz(3) not null default now()
);

create table events (
  sequence bigint generated always as identity primary key,
  id uuid not null,
  tenant_id uuid not null references tenants,
  type text not null,
  aggregate_type text not null,
  aggregate_id uuid not null,
  payload jsonb not null,
  occurred_at timestamptz(3) not null default now()
);
create index events_of_tenant on events (tenant_id, sequence);

create table audit_records (
  sequence bigint generated always as identity primary key,
  id uuid not null default gen_random_uuid(),
  tenant_id uuid not null,
  action text not null,
  actor_ref varchar(200) not null,
  resource_type text not null,
  resource_id uuid not null,
  outcome text not null check (outcome in ('allowed', 'denied')),
  reason text not null default '',
  request_id text not null,
  occurred_at timestamptz(3) not null default now()
);

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% is append-only: % refused', tg_table_name, tg_op using errcode = 'restrict_violation';
end $$;
create trigger events_append_only before update or delete on events
  for each row execute function refuse_change();
create trigger events_never_truncated before truncate on events
  for each statement execute function refuse_change();
create trigger audit_records_append_only before update or delete on audit_records
  for each row execute function refuse_change();
create trigger audit_records_never_truncated before truncate on audit_records
  for each statement execute function refuse_change();

-- Sequence numbers are drawn before the commit, so a lower one may become visible after a higher one. Whoever writes
-- events therefore holds a shared advisory lock until its transaction ends, whose key says above which number it draws
-- (16 bits that mark the journal, 48 bits of the number). Shared locks never wait for each other.
create function mark_journal_writer() returns trigger language plpgsql as $$
declare
  floor bigint;
begin
  select case when is_called then last_value else 0 end into floor from events_sequence_seq;
  perform pg_advisory_xact_lock_shared((19022::bigint << 48) | floor);
  return null;
end $$;
create trigger events_mark_writer before insert on events
  for each statement execute function mark_journal_writer();

-- The highest number below which nothing can appear any more. Read it in a statement of its own, then the rows: whoever
-- drew at or below the head held its lock before the head was read, so either the lock is still seen here, or its
-- transaction has ended and the next statement sees its rows. The subquery names the head so that it runs after it.
create function journal_settled() returns bigint language sql volatile as $$
  select least(head.number, (
    select min((locks.classid::bigint & 65535) << 32 | locks.objid::bigint)
    from pg_locks locks
    where locks.locktype = 'advisory' and locks.objsubid = 1 and locks.classid::bigint >> 16 = 19022
      and locks.database = (select oid from pg_database where datname = current_database())
      and head.number >= 0))
  from (select case when is_called then last_value else 0 end as number from events_sequence_seq) head
$$;

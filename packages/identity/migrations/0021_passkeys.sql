-- Passkeys are external identities of an issuer of ours: the passkeys of a person in a tenant share one, whose subject is
-- their user handle.
alter table external_identities drop constraint external_identities_source_check;
alter table external_identities add constraint external_identities_source_check
  check (source in ('manual', 'federated', 'provisioned', 'passkey'));
create unique index external_identities_of_passkeys on external_identities (principal_id, tenant_id)
  where source = 'passkey';
alter table authentication_contexts drop constraint authentication_contexts_source_check;
alter table authentication_contexts add constraint authentication_contexts_source_check
  check (source in ('bootstrap', 'federation', 'passkey'));

create table passkeys (
  id uuid primary key,
  tenant_id uuid not null references tenants,
  principal_id uuid not null references principals,
  external_identity_id uuid not null references external_identities,
  name text not null,
  -- The id that the authenticator chose, and the public key (COSE), both in base64url.
  credential_id text not null constraint passkeys_credential unique,
  public_key text not null,
  sign_count bigint not null,
  transports text[] not null default '{}',
  -- The authenticator may copy it to other devices.
  is_synced boolean not null,
  is_backed_up boolean not null,
  created_at timestamptz(3) not null default now(),
  last_used_at timestamptz(3)
);
create index passkeys_of_principal on passkeys (principal_id, created_at, id);

-- Challenges that a valid response has used, until they would be too old anyway.
create table used_challenges (
  challenge_hash text primary key,
  expires_at timestamptz(3) not null
);
create index used_challenges_by_expiry on used_challenges (expires_at);

create table browser_sessions (
  id uuid primary key,
  tenant_id uuid not null references tenants,
  principal_id uuid not null references principals,
  external_identity_id uuid not null references external_identities,
  authentication_context_id uuid not null references authentication_contexts,
  -- No reference: the session is kept when its passkey is removed. Null after a sign-in through a provider.
  passkey_id uuid,
  client_id text not null,
  public_prefix text not null constraint browser_sessions_prefix unique,
  secret_hash text not null constraint browser_sessions_secret unique,
  acr text,
  auth_time timestamptz(3) not null,
  created_at timestamptz(3) not null default now(),
  expires_at timestamptz(3) not null,
  last_used_at timestamptz(3) not null default now(),
  ended_at timestamptz(3),
  end_reason text not null default ''
);
create index browser_sessions_live on browser_sessions (principal_id, created_at, id) where ended_at is null;
create index browser_sessions_of_principal on browser_sessions (principal_id, expires_at);

-- What `/.well-known/revocations.json` reads, with ended browser sessions.
drop index events_of_revocations;
create index events_of_revocations on events (occurred_at)
  where type in ('principal.disabled', 'principal.enabled', 'credential.revoked', 'tenant.updated',
    'identity_provider.disabled', 'identity_provider.enabled', 'browser_session.revoked');

-- Whether the provider stated the time of the sign-in. A time that it left out, or one of the future, is stored as that of
-- the recording, which proves no fresh sign-in.
alter table authentication_contexts add column is_time_stated boolean not null default false;

-- Tokens with which a person administers the identities of their tenant for some minutes after a sign-in.
create table administration_tokens (
  id uuid primary key,
  tenant_id uuid not null references tenants,
  principal_id uuid not null references principals,
  external_identity_id uuid not null references external_identities,
  -- No reference: old sessions are deleted. Null after a sign-in through a provider without a browser session.
  browser_session_id uuid,
  public_prefix text not null constraint administration_tokens_prefix unique,
  secret_hash text not null constraint administration_tokens_secret unique,
  auth_time timestamptz(3) not null,
  created_at timestamptz(3) not null default now(),
  expires_at timestamptz(3) not null,
  revoked_at timestamptz(3)
);
create index administration_tokens_of_principal on administration_tokens (principal_id, tenant_id, created_at);
create index administration_tokens_by_expiry on administration_tokens (expires_at);

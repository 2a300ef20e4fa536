-- One-time links for people: an invitation, or the recovery of somebody who lost their passkeys.
create table invitations (
  id uuid primary key,
  tenant_id uuid not null references tenants,
  principal_id uuid not null references principals,
  kind text not null check (kind in ('invitation', 'recovery')),
  email text,
  -- Handed through: the rights belong to coordination.
  role text,
  invited_by text not null,
  message text not null,
  -- Accepting it makes its paused principal active.
  activates boolean not null,
  -- Accepting it ends the person's other passkeys and their browser sessions.
  replaces boolean not null,
  public_prefix text not null constraint invitations_prefix unique,
  secret_hash text not null constraint invitations_secret unique,
  created_at timestamptz(3) not null default now(),
  expires_at timestamptz(3) not null,
  accepted_at timestamptz(3),
  accepted_by text check (accepted_by in ('passkey', 'identity_provider')),
  revoked_at timestamptz(3),
  revoke_reason text not null default '',
  check (num_nonnulls(accepted_at, accepted_by) in (0, 2)),
  check (num_nonnulls(accepted_at, revoked_at) < 2)
);
create index invitations_of_tenant on invitations (tenant_id, created_at, id);
create index invitations_open on invitations (tenant_id, expires_at) where accepted_at is null and revoked_at is null;
create index invitations_of_principal on invitations (principal_id);

-- People are found by their ids at identity, to join both services' lists.
create index iam_bindings_of_identity on iam_bindings (tenant_id, iam_principal_id);

-- The link of an invitation on its way to the mail server. Deleted when it was sent, and after a day.
create table invitation_mails (
  id uuid primary key,
  tenant_id uuid not null references tenants,
  principal_id uuid not null references principals,
  invited_by text not null check (length(invited_by) <= 500),
  key_id text not null,
  sealed bytea not null check (octet_length(sealed) <= 1000),
  created_at timestamptz(3) not null default now(),
  expires_at timestamptz(3) not null,
  -- A newer link of the person replaces the one before.
  unique (tenant_id, principal_id)
);
create index invitation_mails_expiry on invitation_mails (expires_at);

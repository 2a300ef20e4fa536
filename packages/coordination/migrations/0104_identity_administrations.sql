-- Identity's administration tokens that were given to people, until they expire: the worker has those revoked whose person
-- is no longer an administrator. The token itself is not stored.
create table identity_administrations (
  -- Identity's id of the token.
  token_id uuid primary key,
  iam_tenant_id uuid not null,
  tenant_id uuid not null references tenants,
  principal_id uuid not null references principals,
  -- The binding that gave the right.
  binding_id uuid not null references iam_bindings,
  expires_at timestamptz(3) not null
);
create index identity_administrations_by_expiry on identity_administrations (expires_at);

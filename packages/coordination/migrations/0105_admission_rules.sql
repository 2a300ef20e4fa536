-- What an administrator of coordination allows an identity provider to admit by itself: people of one tenant of identity,
-- with one access role. A statement of identity is compared with it, so that identity alone gives nobody access.
create table admission_rules (
  id uuid primary key,
  issuer text not null,
  iam_tenant_id uuid not null,
  identity_provider text not null,
  tenant_id uuid not null references tenants (id),
  access_role text not null,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  constraint admission_rules_provider unique (issuer, iam_tenant_id, identity_provider)
);
create index admission_rules_of_tenant on admission_rules (tenant_id, identity_provider);

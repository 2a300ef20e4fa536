-- Providers that existed before go on creating people, and are not offered by a console that finds its providers here.
alter table identity_providers
  add column email_claim text not null default 'email',
  add column unknown_people text not null default 'create' check (unknown_people in ('create', 'request')),
  add column admit jsonb,
  add column offered boolean not null default false;

-- People who signed in through a provider and are unknown: an administrator admits or refuses them. A row that has ended
-- is deleted by the next request of the same person, so that a late decision about it finds nothing.
create table sign_in_requests (
  id uuid primary key,
  tenant_id uuid not null references tenants,
  identity_provider_id uuid not null references identity_providers,
  -- The id of the principal that admitting creates: coordination binds it before.
  principal_id uuid not null constraint sign_in_requests_principal unique,
  issuer text not null,
  subject text not null,
  external_id text not null,
  display_name text not null,
  email text,
  email_verified boolean not null,
  status text not null default 'pending' check (status in ('pending', 'admitted', 'refused')),
  attempts integer not null default 1,
  created_at timestamptz(3) not null default now(),
  last_attempt_at timestamptz(3) not null default now(),
  -- Of a pending one: its end. Of a refused one: until then the person can't ask again.
  expires_at timestamptz(3) not null,
  decided_at timestamptz(3),
  decision_reason text not null default '',
  constraint sign_in_requests_identity unique (tenant_id, issuer, subject),
  check ((status = 'pending') = (decided_at is null))
);
create index sign_in_requests_of_tenant on sign_in_requests (tenant_id, created_at, id);
create index sign_in_requests_pending on sign_in_requests (tenant_id, identity_provider_id, expires_at)
  where status = 'pending';
create index sign_in_requests_ended on sign_in_requests (tenant_id, decided_at) where status <> 'pending';

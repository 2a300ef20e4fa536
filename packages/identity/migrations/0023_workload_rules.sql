-- Which principal a workload is: a rule maps claims of the tokens of a provider to a principal, so that pipelines need no stored
-- secret (docs/reference/workload-identity.md).
create table workload_rules (
  id uuid primary key,
  tenant_id uuid not null references tenants,
  identity_provider_id uuid not null references identity_providers,
  key text not null,
  principal_id uuid not null references principals,
  claims jsonb not null,
  audiences text[] not null,
  scope_ceiling text[] not null,
  single_use boolean not null,
  lifetime_seconds_max integer not null,
  status text not null default 'active' constraint workload_rules_status_check check (status in ('active', 'disabled')),
  created_at timestamptz(3) not null default now(),
  constraint workload_rules_key unique (identity_provider_id, key)
);

-- Assertions that a rule accepts once, until they expire.
create table used_assertions (
  identity_provider_id uuid not null references identity_providers,
  jti_hash text not null,
  expires_at timestamptz(3) not null,
  primary key (identity_provider_id, jti_hash)
);
-- Their number for each provider is bounded; a job deletes expired ones.
create index used_assertions_of_provider on used_assertions (identity_provider_id, expires_at);
create index used_assertions_in_order on used_assertions (expires_at);

-- `none`: nobody signs in through the provider; its tokens are for rules only. `key_set`: for issuers that can't be reached.
alter table identity_providers drop constraint identity_providers_principal_kind_check;
alter table identity_providers add constraint identity_providers_principal_kind_check
  check (principal_kind in ('human', 'workload', 'none'));
alter table identity_providers add column key_set jsonb;
-- The provider of a presented assertion is found by its issuer, in all tenants.
create index identity_providers_of_issuer on identity_providers (issuer) where principal_kind <> 'human';

-- What `/.well-known/revocations.json` reads, with disabled and deleted rules. The statement of an older process uses it, too.
drop index events_of_revocations;
create index events_of_revocations on events (occurred_at)
  where type in ('principal.disabled', 'principal.enabled', 'credential.revoked', 'tenant.updated',
    'identity_provider.disabled', 'identity_provider.enabled', 'browser_session.revoked',
    'workload_rule.disabled', 'workload_rule.enabled', 'workload_rule.deleted');

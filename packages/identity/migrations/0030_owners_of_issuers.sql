-- Whether an administrator has declared that the issuer signs tokens of the own organization only. Otherwise a workload rule must
-- fix an owner (docs/reference/workload-identity.md#owners).
alter table identity_providers add column own_issuer boolean not null default false;

-- The rule for which an assertion was used: one rule must not use up what its provider may remember. Null in rows of an older
-- process. Not a foreign key, because the row must outlive its rule.
alter table used_assertions add column workload_rule_id uuid;

-- A hash of the address from which the person signed in: one address must not use up the requests of a provider.
alter table sign_in_requests add column address_hash text;

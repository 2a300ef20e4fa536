-- What a disable left to do when it was acknowledged: beyond the first 100, tokens are revoked by a job, in batches. 20,000
-- in the transaction of the disable took 3.6 s.

-- The tokens of a generation below that of their principal are revoked, also before the job has come by, and also after
-- the principal was enabled again. A number, because times don't tell: a transaction may have begun before the disable
-- that it waited for.
alter table principals add column token_generation integer not null default 0;
alter table platform_access_tokens add column generation integer not null default 0;

drop index platform_access_tokens_live;
create index platform_access_tokens_live on platform_access_tokens (principal_id, generation, created_at, id)
  where revoked_at is null;

create table endings (
  id uuid primary key,
  tenant_id uuid not null references tenants,
  principal_id uuid not null references principals,
  token_generation integer not null,
  reason text not null,
  -- Who asked, for the audit rows of the job.
  actor_ref text not null,
  request_id text not null,
  acknowledged_at timestamptz(3) not null default clock_timestamp(),
  unique (principal_id, token_generation)
);
create index endings_in_order on endings (acknowledged_at, id);

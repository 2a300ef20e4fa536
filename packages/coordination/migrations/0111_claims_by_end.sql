-- For GET /statistics. Each of these migrations locks one table, and only while it builds that table's indexes.
create index claims_ended on claims (tenant_id, released_at, acquired_at) where released_at is not null;
create index claims_lost on claims (tenant_id, released_at)
  where release_reason in ('expired', 'session_inactive', 'session_expired');

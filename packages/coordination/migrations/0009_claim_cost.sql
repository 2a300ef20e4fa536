-- What a claim, the commonest statement, no longer pays for.

-- A foreign key looks the named row up and locks it. A claim's session and holder were found by the same statement, under
-- locks that it keeps, and nothing deletes sessions or principals; now nothing can.
alter table claims drop constraint claims_session_id_fkey;
alter table claims drop constraint claims_holder_id_fkey;
create function refuse_removal() returns trigger language plpgsql as $$
begin
  raise exception '% of % refused: other rows name them', tg_op, tg_table_name using errcode = 'restrict_violation';
end $$;
create trigger sessions_stay before update of id or delete on sessions
  for each row execute function refuse_removal();
create trigger sessions_never_truncated before truncate on sessions
  for each statement execute function refuse_removal();
create trigger principals_stay before update of id or delete on principals
  for each row execute function refuse_removal();
create trigger principals_never_truncated before truncate on principals
  for each statement execute function refuse_removal();

-- Ascending, new entries come last in their group, where PostgreSQL splits pages so that the full one stays full.
-- Descending they came first, and each split left two half-empty pages. A list reads backwards.
drop index claims_by_session;
drop index claims_by_status;
create index claims_by_session on claims (session_id, status, acquired_at, id);
create index claims_by_status on claims (tenant_id, status, acquired_at, id);

-- As before, and only for an active owner: a claim asks this alone, and no longer for its principal in a call of its own.
create or replace function enter_session(session uuid, owner uuid, person uuid) returns timestamptz
language plpgsql volatile as $$
declare
  locked text;
begin
  locked := pg_advisory_xact_lock_shared(principal_lock(owner))::text;
  if person is not null then
    locked := pg_advisory_xact_lock_shared(principal_lock(person))::text;
  end if;
  locked := pg_advisory_xact_lock_shared(session_lock(session))::text;
  return (
    select s.expires_at from sessions s join principals p on p.id = s.principal_id and p.status = 'active'
    where s.id = session and s.status = 'active' and not exists (
      select from endings e where e.principal_id in (s.principal_id, s.on_behalf_of_id) and e.acknowledged_at >= s.started_at));
end $$;

-- What a claim, the commonest statement, no longer does.

-- The foreign key of a claim's task looked up and locked a row that the same statement has just changed. Nothing deletes
-- tasks; now nothing can.
alter table claims drop constraint claims_task_id_fkey;
create trigger tasks_stay before update of id or delete on tasks
  for each row execute function refuse_removal();
create trigger tasks_never_truncated before truncate on tasks
  for each statement execute function refuse_removal();

-- What `enter_session` does, for the owner's own session, which is read once: under the locks. Tells until when the session
-- and its delegation live; null when they don't. The lock of the person it acts for is only tried, null if somebody has it
-- alone: the order is principals, then session, and to wait for a principal under the session's lock could deadlock.
create function enter_own_session(session uuid, tenant uuid, owner uuid) returns timestamptz language plpgsql volatile as $$
declare
  locked text;
  person uuid;
  delegated_until timestamptz;
  live_until timestamptz;
begin
  locked := pg_advisory_xact_lock_shared(principal_lock(owner))::text;
  locked := pg_advisory_xact_lock_shared(session_lock(session))::text;
  select s.on_behalf_of_id, d.expires_at, s.expires_at into person, delegated_until, live_until
  from sessions s join principals p on p.id = s.principal_id and p.status = 'active'
  left join delegations d on d.id = s.delegation_id and d.revoked_at is null
  where s.id = session and s.tenant_id = tenant and s.principal_id = owner and s.status = 'active'
    and (s.delegation_id is null or d.id is not null)
    and not exists (
      select from endings e where e.principal_id in (s.principal_id, s.on_behalf_of_id) and e.acknowledged_at >= s.started_at);
  if person is null then
    return live_until;
  end if;
  if not pg_try_advisory_xact_lock_shared(principal_lock(person)) then
    return null;
  end if;
  -- Read again: the person may have been disabled before its lock was taken.
  live_until := enter_session(session, owner, person);
  return case when live_until is not null then least(live_until, delegated_until) end;
end $$;

-- A table's checks are parsed anew by every statement that writes to the table, whichever columns it sets: 8 % of a claim's
-- processor time. Those of a domain are kept in parsed form, and apply only to a column that is set.
create domain task_category as text
  check (value in ('backlog', 'active', 'blocked', 'terminal_success', 'terminal_cancelled'));
create domain task_priority as smallint check (value between 0 and 3);
create domain prerequisite_count as integer check (value >= 0);
create domain claim_status as text check (value in ('active', 'released', 'stale'));
alter table tasks drop constraint tasks_category_check;
alter table tasks drop constraint tasks_priority_check;
alter table tasks drop constraint tasks_open_prerequisites_check;
alter table claims drop constraint claims_status_check;
drop trigger tasks_settle_prerequisite on tasks;
alter table tasks
  alter column category type task_category,
  alter column priority type task_priority,
  alter column open_prerequisites type prerequisite_count;
alter table claims alter column status type claim_status;
create trigger tasks_settle_prerequisite after update of category on tasks
  for each row when ((old.category = 'terminal_success') <> (new.category = 'terminal_success'))
  execute function settle_prerequisite();

-- A command holds the lock of its principal shared until its commit; a disable takes it alone. Locks of rows aren't fair:
-- while shared holders came and went, a disable never got the row (503 after 10 s at 200 parallel requests). Advisory
-- locks are handed out in the order of asking: who comes after the disable waits behind it.
create function principal_lock(principal uuid) returns bigint language sql immutable as
  $$ select hashtextextended('principal/' || principal, 0) $$;

-- Shares the lock of a principal until the end of the transaction, then tells its status; null for an unknown one. volatile
-- plpgsql, because each of its statements sees what is committed at its start: the statement around it would see the
-- principal as it was before the wait.
create function enter_principal(principal uuid, tenant uuid) returns text language plpgsql volatile as $$
begin
  perform pg_advisory_xact_lock_shared(principal_lock(principal));
  return (select status from principals where id = principal and tenant_id = tenant);
end $$;

-- Takes the lock of a principal alone. A holder that takes longer than 600 ms, because it waits for somebody else's lock or
-- its process stands still, loses its connection: its command is rolled back. Of two who disable each other, one starts
-- again (40P01), which PostgreSQL itself would only find after a second.
create function take_principal_lock(principal uuid) returns void language plpgsql volatile
set lock_timeout = '600ms' as $$
declare
  key bigint := principal_lock(principal);
  holder integer;
begin
  for attempt in 1..3 loop
    begin
      perform pg_advisory_xact_lock(key);
      return;
    exception when lock_not_available then
      for holder in
        select pid from pg_locks
        where locktype = 'advisory' and granted and pid <> pg_backend_pid() and objsubid = 1
          and database = (select oid from pg_database where datname = current_database())
          and classid = ((key >> 32) & 4294967295)::oid and objid = (key & 4294967295)::oid
      loop
        if not pg_backend_pid() = any (pg_blocking_pids(holder)) then
          perform pg_terminate_backend(holder);
        elsif holder < pg_backend_pid() then
          raise exception 'two principals disable each other' using errcode = 'deadlock_detected';
        end if;
      end loop;
    end;
  end loop;
  perform pg_advisory_xact_lock(key);
end $$;

-- What a disable or the end of a session left to do when it was acknowledged: the worker releases the claims that were
-- there, in batches, and deletes the row after the last one.
create table endings (
  id uuid primary key,
  tenant_id uuid not null references tenants,
  principal_id uuid references principals,
  session_id uuid references sessions,
  reason text not null,
  -- What began later, after an enable, stays.
  acknowledged_at timestamptz(3) not null default clock_timestamp(),
  check (num_nonnulls(principal_id, session_id) = 1)
);
create index endings_in_order on endings (acknowledged_at);

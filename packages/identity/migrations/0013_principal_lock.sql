-- Whoever makes something for a principal holds its lock shared until the commit; a disable takes it alone. Locks of rows
-- aren't fair: 12 parallel sign-ins of one person kept a disable out until it ended in 503 after 10 s. Advisory locks are
-- handed out in the order of asking: who comes after the disable waits behind it.
create function principal_lock(principal uuid) returns bigint language sql immutable as
  $$ select (19026::bigint << 48) | (hashtextextended(principal::text, 0) & ((1::bigint << 48) - 1)) $$;

-- Shares the lock of a principal until the end of the transaction, then tells its status; null for an unknown one. volatile
-- plpgsql, because each of its statements sees what is committed at its start: the statement around it would see the
-- principal as it was before the wait.
create function enter_principal(principal uuid) returns text language plpgsql volatile as $$
begin
  perform pg_advisory_xact_lock_shared(principal_lock(principal));
  return (select status from principals where id = principal);
end $$;

-- The processes that hold the lock of a principal, apart from this one.
create function principal_holders(principal uuid) returns table (pid integer, is_alone boolean)
language sql volatile as $$
  select l.pid, l.mode = 'ExclusiveLock' from pg_locks l
  where l.locktype = 'advisory' and l.granted and l.pid <> pg_backend_pid() and l.objsubid = 1
    and l.database = (select oid from pg_database where datname = current_database())
    and l.classid = ((principal_lock(principal) >> 32) & 4294967295)::oid
    and l.objid = (principal_lock(principal) & 4294967295)::oid
$$;

-- Takes the lock of a principal alone. A holder that this waited 600 ms for, because it waits for somebody else or its process
-- stands still, loses its connection: its command is rolled back. Another disable, which holds the lock alone, is left to
-- finish while it works. Where a holder waits for this transaction, this one starts again (40P01), which PostgreSQL
-- itself would only find after a second.
create function take_principal_lock(principal uuid) returns void language plpgsql volatile
set lock_timeout = '600ms' as $$
declare
  waited_for integer[];
  holder record;
begin
  for attempt in 1..15 loop
    if pg_try_advisory_xact_lock(principal_lock(principal)) then return; end if;
    waited_for := array(select pid from principal_holders(principal));
    begin
      perform pg_advisory_xact_lock(principal_lock(principal));
      return;
    exception when lock_not_available then
      perform pg_stat_clear_snapshot();
      for holder in
        select h.pid, h.is_alone and (a.state_change > clock_timestamp() - interval '600 ms'
          or a.state = 'active' and a.wait_event_type is distinct from 'Lock') as is_at_work
        from principal_holders(principal) h left join pg_stat_activity a on a.pid = h.pid
        where h.pid = any (waited_for)
      loop
        if pg_backend_pid() = any (pg_blocking_pids(holder.pid)) then
          raise exception 'a holder of the principal waits for this one' using errcode = 'deadlock_detected';
        elsif holder.is_at_work is not true then
          perform pg_terminate_backend(holder.pid);
        end if;
      end loop;
    end;
  end loop;
  perform pg_advisory_xact_lock(principal_lock(principal));
end $$;

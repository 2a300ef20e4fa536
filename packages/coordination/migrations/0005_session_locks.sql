-- What is written under a session shares the session's lock until its commit, and whoever closes the session takes it
-- alone. Claims used to lock the session's row (`for share`): while they came and went, a close never got it.
create function session_lock(session uuid) returns bigint language sql immutable as
  $$ select hashtextextended('session/' || session, 0) $$;

-- A session of a disabled principal is over at once, though the worker may close its row later.
create index endings_of_principal on endings (principal_id) where principal_id is not null;

-- Takes an advisory lock alone. Who shares it for longer than 600 ms, because it waits for somebody else's lock or its
-- process stands still, loses its connection: its command is rolled back. Another one that has it alone is waited for.
-- Of two that wait for each other one starts again (40P01), which PostgreSQL itself would only find after a second.
create function take_lock(key bigint) returns void language plpgsql volatile
set lock_timeout = '600ms' as $$
declare
  holder integer;
begin
  for attempt in 1..3 loop
    begin
      perform pg_advisory_xact_lock(key);
      return;
    exception when lock_not_available then
      for holder in
        select pid from pg_locks
        where locktype = 'advisory' and granted and pid <> pg_backend_pid() and objsubid = 1 and mode = 'ShareLock'
          and database = (select oid from pg_database where datname = current_database())
          and classid = ((key >> 32) & 4294967295)::oid and objid = (key & 4294967295)::oid
      loop
        if not pg_backend_pid() = any (pg_blocking_pids(holder)) then
          perform pg_terminate_backend(holder);
        elsif holder < pg_backend_pid() then
          raise exception 'two commands wait for each other' using errcode = 'deadlock_detected';
        end if;
      end loop;
    end;
  end loop;
  perform pg_advisory_xact_lock(key);
end $$;
drop function take_principal_lock(uuid);

-- Shares the locks of a session, of its owner and of the person it acts for, in this order: principals, session. Then
-- tells until when the session lives, null when it doesn't. volatile plpgsql, because each of its statements sees what is
-- committed at its start: the statement around it would see the session as it was before the wait.
create function enter_session(session uuid, owner uuid, person uuid) returns timestamptz language plpgsql volatile as $$
begin
  perform pg_advisory_xact_lock_shared(principal_lock(owner));
  if person is not null then
    perform pg_advisory_xact_lock_shared(principal_lock(person));
  end if;
  perform pg_advisory_xact_lock_shared(session_lock(session));
  return (
    select expires_at from sessions s
    where s.id = session and s.status = 'active' and not exists (
      select from endings e where e.principal_id in (s.principal_id, s.on_behalf_of_id) and e.acknowledged_at >= s.started_at));
end $$;

-- The same with the session's lock alone, for a command that may end the session. It ends nobody's connection.
create function lock_session(session uuid, owner uuid, person uuid) returns void language plpgsql volatile as $$
begin
  perform pg_advisory_xact_lock_shared(principal_lock(owner));
  if person is not null then
    perform pg_advisory_xact_lock_shared(principal_lock(person));
  end if;
  perform pg_advisory_xact_lock(session_lock(session));
end $$;

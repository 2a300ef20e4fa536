-- As before; but an assignment is computed without starting a query, which `perform` does.
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
    select expires_at from sessions s
    where s.id = session and s.status = 'active' and not exists (
      select from endings e where e.principal_id in (s.principal_id, s.on_behalf_of_id) and e.acknowledged_at >= s.started_at));
end $$;

-- What a person with a narrow sight (0019) sees of sessions, and the queue of calls that this person executes.

-- A session is filed in no workspace: its claims say where it works, and so does the workspace of the registered agent that
-- opened it. A person sees own sessions, those opened for them, and those that work in places in sight and in no other. A session
-- with more than 1,000 claims is not seen: reading a page of sessions would otherwise take the time of all their claims.
create function sees_session(viewer uuid, session uuid) returns boolean language plpgsql stable
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  claims_max constant integer := 1000;
  opened sessions;
  places uuid[];
begin
  if viewer is null then return true; end if;
  select * into opened from sessions where id = session;
  if viewer in (opened.principal_id, opened.on_behalf_of_id) then return true; end if;
  if not exists (select from claims where session_id = session)
    and not exists (select from agents where principal_id = opened.principal_id and workspace_id is not null)
  then return false; end if;
  if exists (select from claims where session_id = session offset claims_max) then return false; end if;
  places := array(select workspaces_seen_by(viewer));
  return not exists (
    select from agents a
    where a.principal_id = opened.principal_id and a.workspace_id is not null and a.workspace_id <> all (places)
  ) and not exists (
    select from claims c join tasks t on t.id = c.task_id
    where c.session_id = session and t.workspace_id is not null and t.workspace_id <> all (places));
end $$;

create index sessions_ever_of_principal on sessions (principal_id, started_at desc, id desc);
create index sessions_ever_on_behalf on sessions (on_behalf_of_id, started_at desc, id desc) where on_behalf_of_id is not null;

-- An executor with a narrow sight steps from queue to queue of the places in sight, as others do in skill_invocations_queue.
create index skill_invocations_queue_of_place
  on skill_invocations (coalesce(workspace_id, tenant_id), protocol, target, audience, available_at, id) where status = 'pending';

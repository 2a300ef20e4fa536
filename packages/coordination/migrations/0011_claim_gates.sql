-- What a claim must pass besides prerequisites. All of it stands on the task's row, under the one lock that a claim takes,
-- so that a claim and the act that closes a gate can't both win.

alter table tasks
  -- How many pending approvals hold the task back (core, section 14); kept by requests and decisions, under the task's lock.
  add column pending_gates prerequisite_count not null default 0,
  -- The verification attempt that is open (core, section 8.8).
  add column open_verification_id uuid,
  -- Whether may_claim has anything to look at: requirements, or required inputs of the type. Most tasks have neither.
  add column is_restricted boolean not null default false;

-- Whether a principal fulfils the requirements of a task, and every required input is there. Nobody does as long as
-- requirements can't be recorded.
create function may_claim(task uuid, principal uuid) returns boolean language plpgsql stable as $$
begin
  return false;
end $$;

drop index tasks_available;
drop index tasks_available_to;
create index tasks_available on tasks (tenant_id, priority, created_at, id)
  where category in ('backlog', 'active', 'blocked') and open_prerequisites = 0 and pending_gates = 0
    and open_verification_id is null;
create index tasks_available_to on tasks (tenant_id, assignee_id, priority, created_at, id)
  where category in ('backlog', 'active', 'blocked') and open_prerequisites = 0 and pending_gates = 0
    and open_verification_id is null and assignee_id is not null;

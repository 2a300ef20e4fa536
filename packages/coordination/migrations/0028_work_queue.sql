-- The tasks that could be handed out, in the order in which they are (decision 0210).
--
-- An index of tasks can't hold free tasks alone: a claim would have to write entries of every index of its row, since what
-- is in the index's predicate changed. So it held claimed ones too, and whoever looked for work read past all of them. The
-- queue has a row for every open task that nobody claims. A claim of a named task leaves its row, which says nothing then;
-- :claim-next, or the worker soon after, removes it. The end of a claim puts it back.

-- When a task's turn comes: when it was made, and of several children of one parent at least a second after the one before.
alter table tasks add column turn_at timestamptz(3) not null default now();
update tasks set turn_at = created_at;

-- The last turn that was given to a child of a task.
create table task_turns (
  parent_id uuid primary key,
  last_turn_at timestamptz(3) not null
);

create table work_queue (
  task_id uuid primary key,
  tenant_id uuid not null,
  -- of a task that requires nothing the nil UUID, so that one index serves both
  set_id uuid not null,
  workspace_id uuid,
  assignee_id uuid,
  priority smallint not null,
  created_at timestamptz(3) not null,
  turn_at timestamptz(3) not null
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
create index work_queue_in_order on work_queue (tenant_id, set_id, priority, created_at, task_id);
create index work_queue_by_turn on work_queue (tenant_id, set_id, priority, turn_at, task_id);
create index work_queue_of_assignee on work_queue (assignee_id, set_id, priority, created_at, task_id)
  where assignee_id is not null;
create index work_queue_in_workspace on work_queue (workspace_id, set_id, priority, created_at, task_id)
  where workspace_id is not null;

drop index tasks_available;
drop index tasks_available_to;
drop index tasks_available_in;

insert into work_queue (task_id, tenant_id, set_id, workspace_id, assignee_id, priority, created_at, turn_at)
select id, tenant_id, coalesce(requirement_set_id, '00000000-0000-0000-0000-000000000000'), workspace_id, assignee_id,
  priority, created_at, turn_at
from tasks
where category in ('backlog', 'active', 'blocked') and open_prerequisites = 0 and pending_gates = 0
  and open_verification_id is null;

-- Keeps the row of a task. While somebody claims the task, its row may be there or not, and is only corrected.
create function queue_task() returns trigger language plpgsql as $$
declare
  required constant uuid := coalesce(new.requirement_set_id, '00000000-0000-0000-0000-000000000000');
begin
  if new.category in ('terminal_success', 'terminal_cancelled') or new.open_prerequisites > 0 or new.pending_gates > 0
    or new.open_verification_id is not null then
    delete from work_queue where task_id = new.id;
  elsif new.active_claim_id is null then
    insert into work_queue as q (task_id, tenant_id, set_id, workspace_id, assignee_id, priority, created_at, turn_at)
    values (new.id, new.tenant_id, required, new.workspace_id, new.assignee_id, new.priority, new.created_at, new.turn_at)
    on conflict (task_id) do update
    set set_id = excluded.set_id, workspace_id = excluded.workspace_id, assignee_id = excluded.assignee_id,
      priority = excluded.priority, turn_at = excluded.turn_at
    where (q.set_id, q.workspace_id, q.assignee_id, q.priority, q.turn_at)
      is distinct from (excluded.set_id, excluded.workspace_id, excluded.assignee_id, excluded.priority, excluded.turn_at);
  else
    update work_queue
    set set_id = required, workspace_id = new.workspace_id, assignee_id = new.assignee_id, priority = new.priority,
      turn_at = new.turn_at
    where task_id = new.id;
  end if;
  return null;
end $$;
create trigger tasks_queue_added after insert on tasks for each row execute function queue_task();
-- A claim sets active_claim_id and category, and passes the condition by: it changes nothing here.
create trigger tasks_queue_changed after update of category, open_prerequisites, pending_gates, open_verification_id,
  priority, assignee_id, workspace_id, requirement_set_id, turn_at, active_claim_id on tasks
  for each row when (
    (old.active_claim_id is not null and new.active_claim_id is null)
    or (old.category like 'terminal%') <> (new.category like 'terminal%')
    or (old.open_prerequisites = 0) <> (new.open_prerequisites = 0)
    or (old.pending_gates = 0) <> (new.pending_gates = 0)
    or (old.open_verification_id is null) <> (new.open_verification_id is null)
    or old.priority <> new.priority
    or old.turn_at <> new.turn_at
    or old.assignee_id is distinct from new.assignee_id
    or old.workspace_id is distinct from new.workspace_id
    or old.requirement_set_id is distinct from new.requirement_set_id)
  execute function queue_task();

-- Gives a child its turn: a second after the one before of the same parent, at most a quarter of an hour after it was made.
create function take_turn() returns trigger language plpgsql as $$
declare
  made timestamptz(3);
  turn timestamptz(3);
begin
  select created_at into made from tasks where id = new.from_task_id;
  insert into task_turns as last (parent_id, last_turn_at) values (new.to_task_id, made)
  on conflict (parent_id) do update
  set last_turn_at = least(greatest(last.last_turn_at + interval '1 second', made), made + interval '15 minutes')
  returning last_turn_at into turn;
  update tasks set turn_at = turn where id = new.from_task_id and turn_at < turn;
  return null;
end $$;
create trigger task_relations_take_turn after insert on task_relations
  for each row when (new.type = 'parent') execute function take_turn();

-- Tasks whose claim is dead, although nobody has recorded it yet. The worker does so within a second or two.
-- One look after the other, each by an index: as one statement, the planner reads all claims.
create function tasks_of_dead_claims(tenant uuid) returns setof uuid language plpgsql stable as $$
declare
  ended uuid;
begin
  return query select task_id from claims
  where tenant_id = tenant and status = 'active' and sweep_at <= now() and expires_at <= now();
  for ended in
    select id from sessions where tenant_id = tenant and status = 'active' and sweep_at <= now() and expires_at <= now()
    union select session_id from endings where tenant_id = tenant and session_id is not null
  loop
    return query select task_id from claims where session_id = ended and status = 'active';
  end loop;
  for ended in select principal_id from endings where tenant_id = tenant and principal_id is not null loop
    return query select task_id from claims where holder_id = ended and status = 'active';
  end loop;
end $$;

-- The sets of requirements that somebody fulfils; the nil UUID, which stands for no requirement, is one of them. In
-- plpgsql, which keeps the plan: as a plain query it was planned anew by each search, most of whose time that took.
create function fulfilled_sets(tenant uuid, principal uuid) returns setof uuid language plpgsql stable as $$
begin
  return next '00000000-0000-0000-0000-000000000000'::uuid;
  return query
  select s.id
  from held_tokens(tenant, principal) h
  join requirement_items i on i.tenant_id = tenant and i.token = h.token
  join requirement_sets s on s.id = i.set_id
  left join workspaces w on w.id = s.workspace_id
  where h.workspace_id is null or h.workspace_id = any (w.path)
  group by s.id, s.items having count(distinct i.position) = s.items;
end $$;

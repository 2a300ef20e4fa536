-- Tasks that can't or mustn't start now aren't offered, and a caller's own tasks come first.
--
-- Before, a task that an agent couldn't do was offered again at once, first and without end; startDate and the category blocked
-- held nothing back; and whoever looked for work read past every task that is assigned to somebody else. The queue keeps its
-- indexes: such rows stand under sets that no search without them looks into.

-- From which statuses of the category blocked a claim starts, after how many failed attempts in a row a task isn't tried any
-- more, and whether startDate holds tasks back. Versions that are published before keep what they did.
alter table task_types add column claimable_blocked text[] not null default '{}';
alter table task_types add column attempts_max integer;
alter table task_types add column holds_start boolean not null default false;

-- Nearest above; its zone is that of the dates of the tasks below.
alter table workspaces add column calendar_key text;
create index workspaces_of_calendar on workspaces (tenant_id, calendar_key) where calendar_key is not null;

-- available_at is the later of the two instants before it.
alter table tasks add column starts_at timestamptz(3);
alter table tasks add column retry_at timestamptz(3);
alter table tasks add column available_at timestamptz(3);
alter table tasks add column failed_attempts integer not null default 0;

-- Set while the task isn't due: then the row stands under the set of those, from which the worker takes it in time.
alter table work_queue add column due_at timestamptz(3);
create index work_queue_of_assignee_in_place on work_queue (assignee_id, coalesce(workspace_id, tenant_id), set_id, priority,
  created_at, task_id) where assignee_id is not null;
create index work_queue_due on work_queue (due_at) where due_at is not null;
create index work_queue_due_of_tenant on work_queue (tenant_id, due_at) where due_at is not null;

-- Tasks whose last attempt was an expired lease; the worker moves them to a blocked status.
create table exhausted_tasks (
  task_id uuid primary key,
  tenant_id uuid not null,
  noted_at timestamptz(3) not null default now()
);

-- Tenants in which the zone of a workspace changed; the worker goes through the tasks that start later. seen_xid is the first
-- transaction that begins after the worker has seen the change: whoever has an older one may have read the old zone.
create table zone_changes (
  id bigint generated always as identity primary key,
  tenant_id uuid not null,
  seen_xid bigint,
  after_start timestamptz(3),
  after_id uuid
);

-- When a task may be tried again that has no attempt left: not before somebody says so.
create function attempts_are_over() returns timestamptz language sql immutable as $$
  select timestamptz '9999-12-31 23:59:59.999Z'
$$;

-- Whether a claim starts from a status of the category blocked.
create function is_claimable_blocked(type uuid, blocked_status text) returns boolean language sql stable as $$
  select exists (select from task_types where id = type and blocked_status = any (claimable_blocked))
$$;

-- Whether an expired lease, which counts as a failed attempt, would be the last attempt of a task.
create function is_last_attempt(type uuid, failed integer) returns boolean language sql stable as $$
  select exists (select from task_types where id = type and attempts_max <= failed + 1)
$$;

-- Whether the end of a claim's lease counts as a failed attempt: not where a run of it has failed, which counted. Volatile, so
-- that a statement which waited for the task sees what was written meanwhile.
create function counts_as_failed(ended_claim uuid) returns boolean language plpgsql volatile as $$
begin
  return not exists (select from runs where claim_id = ended_claim and status = 'failed');
end $$;

-- The same of a claim that nobody has ended yet. Not where its session was closed: then its task is only given back.
create function is_expired(dead_claim uuid) returns boolean language plpgsql volatile as $$
begin
  return counts_as_failed(dead_claim) and exists (
    select from claims c join sessions s on s.id = c.session_id
    where c.id = dead_claim and (c.expires_at <= clock_timestamp() or s.status <> 'closed' and s.expires_at <= clock_timestamp()));
end $$;

-- The zone of the nearest calendar above a task.
create function zone_of(workspace uuid) returns text language sql stable as $$
  select v.spec ->> 'timezone'
  from workspaces w
  join workspaces above on above.id = any (w.path) and above.calendar_key is not null
  join calendars c on c.tenant_id = above.tenant_id and c.key = above.calendar_key
  join calendar_versions v on v.id = c.id
  where w.id = workspace
  order by cardinality(above.path) desc limit 1
$$;

-- When work on a task may begin. A start at midnight UTC is a date: it begins at midnight in the zone of the workspace. A zone
-- that PostgreSQL doesn't know counts as UTC.
create function start_of_work(workspace uuid, type uuid, start_date timestamptz) returns timestamptz language plpgsql as $$
declare
  zone text;
begin
  if start_date is null or not exists (select from task_types where id = type and holds_start) then
    return null;
  end if;
  if workspace is null or start_date <> date_trunc('day', start_date, 'UTC') then
    return start_date;
  end if;
  -- So that a change of the zone can wait for whoever may have read the old one.
  perform pg_current_xact_id();
  zone := zone_of(workspace);
  if zone is null then
    return start_date;
  end if;
  -- The first day of all would begin before the year 1 in the east.
  return greatest((start_date at time zone 'UTC') at time zone zone, timestamptz '0001-01-01 00:00Z');
exception when invalid_parameter_value then
  return start_date;
end $$;

-- Keeps the instants of a task, whoever writes it. An end of the task, and a move out of a blocked status, which isn't a claim,
-- begin the count of failed attempts anew.
create function note_availability() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    new.starts_at := start_of_work(new.workspace_id, new.type_id, new.start_date);
  else
    if (new.start_date, new.workspace_id, new.type_id) is distinct from (old.start_date, old.workspace_id, old.type_id) then
      new.starts_at := start_of_work(new.workspace_id, new.type_id, new.start_date);
    end if;
    if new.category like 'terminal%'
      or old.category = 'blocked' and new.category <> 'blocked' and new.active_claim_id is not distinct from old.active_claim_id then
      new.failed_attempts := 0;
      new.retry_at := null;
    elsif new.failed_attempts > old.failed_attempts and is_last_attempt(new.type_id, new.failed_attempts - 1) then
      new.retry_at := attempts_are_over();
      insert into exhausted_tasks (task_id, tenant_id) values (new.id, new.tenant_id) on conflict do nothing;
    end if;
  end if;
  new.available_at := greatest(new.starts_at, new.retry_at);
  return new;
end $$;
create trigger tasks_note_start before insert on tasks
  for each row when (new.start_date is not null) execute function note_availability();
-- A claim sets category, and failed_attempts after a dead one; it passes the condition by unless that changes something.
create trigger tasks_note_availability before update of start_date, workspace_id, type_id, starts_at, retry_at, failed_attempts,
  category on tasks
  for each row when (
    (new.failed_attempts > 0 or new.retry_at is not null) and (new.category like 'terminal%' or new.category <> old.category)
    or old.failed_attempts <> new.failed_attempts
    or old.retry_at is distinct from new.retry_at
    or old.starts_at is distinct from new.starts_at
    or old.start_date is distinct from new.start_date
    or new.start_date is not null and (old.workspace_id is distinct from new.workspace_id or old.type_id <> new.type_id))
  execute function note_availability();

-- The set under which the queue keeps what is assigned to somebody and would else be kept under another one.
create function assigned_set(unassigned uuid) returns uuid language sql immutable as $$
  select md5('assigned/' || unassigned)::uuid
$$;

-- The set of a row: that of tasks that aren't due, which nobody has, or one of assigned tasks, or its own.
create function set_in_queue(own uuid, assignee uuid, due timestamptz) returns uuid language sql immutable as $$
  select case
    when due is not null then 'eeeeeeee-eeee-eeee-eeee-eeeeeeeeeeee'
    when assignee is not null then assigned_set(own)
    else own end
$$;

-- As in 0037, also of rows that are assigned.
create or replace function note_left_set(tenant uuid, requirements uuid) returns void language plpgsql as $$
begin
  perform pg_advisory_xact_lock_shared(set_lock(requirements));
  if exists (select from queued_requirements where set_id = requirements)
    and not exists (
      select from work_queue where tenant_id = tenant and set_id in (requirements, assigned_set(requirements)))
    and not exists (select from left_sets where set_id = requirements) then
    insert into left_sets (tenant_id, set_id) values (tenant, requirements);
  end if;
end $$;

-- As in 0037, also of rows that are assigned.
create or replace function forget_left_sets(sets_max integer) returns integer language plpgsql as $$
declare
  entry record;
  looked_at integer := 0;
begin
  for entry in
    select tenant_id, set_id, array_agg(id) as ids
    from (select * from left_sets order by id limit sets_max for update skip locked) l
    group by tenant_id, set_id
  loop
    if pg_try_advisory_xact_lock(set_lock(entry.set_id)) then
      delete from queued_requirements i
      where i.set_id = entry.set_id and not exists (
        select from work_queue q
        where q.tenant_id = entry.tenant_id and q.set_id in (entry.set_id, assigned_set(entry.set_id)));
      delete from left_sets where id = any (entry.ids);
      looked_at := looked_at + 1;
    end if;
  end loop;
  return looked_at;
end $$;

-- As in 0096, also of rows that are assigned.
create or replace function fulfilled_sets(tenant uuid, principal uuid) returns setof uuid language plpgsql stable as $$
begin
  return next '00000000-0000-0000-0000-000000000000'::uuid;
  return query
  select s.id
  from held_tokens(tenant, principal) h
  join queued_requirements i on i.tenant_id = tenant and i.token = h.token
  join requirement_sets s on s.id = i.set_id
  left join workspaces w on w.id = s.workspace_id
  where h.workspace_id is null or h.workspace_id = any (w.path)
  group by s.id, s.items having count(distinct i.position) = s.items;
  if not exists (select from task_addressees d where d.tenant_id = tenant) then
    return;
  end if;
  return query
  select own.id from (
    select principal as id
    union
    select a.role_id from role_assignments a where a.tenant_id = tenant and a.principal_id = principal
    union
    select agent_set(a.tenant_id, a.key) from agents a where a.tenant_id = tenant and a.principal_id = principal
  ) own
  where exists (select from work_queue q where q.tenant_id = tenant and q.set_id in (own.id, assigned_set(own.id)));
end $$;

-- As in 0096, without tasks in a blocked status from which no claim starts; what isn't due stands under the set of those.
create or replace function queue_task() returns trigger language plpgsql as $$
declare
  own constant uuid := queue_set(new.id, new.is_addressed, new.requirement_set_id);
  due constant timestamptz := case when new.available_at > clock_timestamp() then new.available_at end;
  under constant uuid := set_in_queue(own, new.assignee_id, due);
  is_queued boolean;
begin
  if new.category in ('terminal_success', 'terminal_cancelled') or new.open_prerequisites > 0 or new.pending_gates > 0
    or new.open_verification_id is not null or new.lacks_input
    or new.category = 'blocked' and not is_claimable_blocked(new.type_id, new.status)
    or (new.active_claim_id is null and new.workspace_id is not null and not offers_work(new.workspace_id)) then
    delete from work_queue where task_id = new.id;
    is_queued := false;
  elsif new.active_claim_id is null then
    insert into work_queue as q (task_id, tenant_id, set_id, workspace_id, assignee_id, priority, created_at, turn_at, due_at)
    values (new.id, new.tenant_id, under, new.workspace_id, new.assignee_id, new.priority, new.created_at, new.turn_at, due)
    on conflict (task_id) do update
    set set_id = excluded.set_id, workspace_id = excluded.workspace_id, assignee_id = excluded.assignee_id,
      priority = excluded.priority, turn_at = excluded.turn_at, due_at = excluded.due_at
    where (q.set_id, q.workspace_id, q.assignee_id, q.priority, q.turn_at, q.due_at) is distinct from
      (excluded.set_id, excluded.workspace_id, excluded.assignee_id, excluded.priority, excluded.turn_at, excluded.due_at);
    is_queued := due is null;
  else
    update work_queue
    set set_id = under, workspace_id = new.workspace_id, assignee_id = new.assignee_id, priority = new.priority,
      turn_at = new.turn_at, due_at = due
    where task_id = new.id;
    is_queued := found and due is null;
  end if;
  if is_queued and own = new.requirement_set_id then
    perform note_queued_set(own);
  end if;
  if tg_op = 'UPDATE' and old.requirement_set_id is not null
    and (not is_queued or old.requirement_set_id <> own) then
    perform note_left_set(new.tenant_id, old.requirement_set_id);
  end if;
  return null;
end $$;

-- As in 0096, and when the task is due at another instant, or comes to a blocked status or from one. What tasks_note_availability
-- writes counts only by the columns that it follows from.
drop trigger tasks_queue_changed on tasks;
create trigger tasks_queue_changed after update of category, status, type_id, open_prerequisites, pending_gates,
  open_verification_id, priority, assignee_id, workspace_id, requirement_set_id, turn_at, active_claim_id, lacks_input,
  is_addressed, start_date, starts_at, retry_at, failed_attempts on tasks
  for each row when (
    (old.active_claim_id is not null and new.active_claim_id is null)
    or (old.category like 'terminal%') <> (new.category like 'terminal%')
    or (old.category = 'blocked' or new.category = 'blocked')
      and (old.category <> new.category or old.status <> new.status or old.type_id <> new.type_id)
    or (old.open_prerequisites = 0) <> (new.open_prerequisites = 0)
    or (old.pending_gates = 0) <> (new.pending_gates = 0)
    or (old.open_verification_id is null) <> (new.open_verification_id is null)
    or old.lacks_input <> new.lacks_input
    or old.priority <> new.priority
    or old.turn_at <> new.turn_at
    or old.is_addressed <> new.is_addressed
    or old.available_at is distinct from new.available_at
    or old.assignee_id is distinct from new.assignee_id
    or old.workspace_id is distinct from new.workspace_id
    or old.requirement_set_id is distinct from new.requirement_set_id)
  execute function queue_task();

-- As in 0096, under the set of a row that is assigned or not due.
create or replace function queue_for_addressee() returns trigger language plpgsql as $$
declare
  required uuid;
  own uuid;
  is_due boolean;
begin
  select requirement_set_id into required from tasks where id = new.task_id;
  own := queue_set(new.task_id, true, required);
  update work_queue q set set_id = set_in_queue(own, q.assignee_id, q.due_at) where q.task_id = new.task_id
  returning q.due_at is null into is_due;
  if is_due and own = required then
    perform note_queued_set(required);
  elsif required is not null then
    perform note_left_set(new.tenant_id, required);
  end if;
  return null;
end $$;

-- As in 0096, as queue_task does it.
create or replace function offer_tasks(tenant uuid, ids uuid[], is_offered boolean, waits boolean) returns void language plpgsql as $$
declare
  locked uuid[];
  sets uuid[];
begin
  if waits then
    perform from tasks where id = any (ids) order by id for no key update;
  end if;
  select array_agg(id), array_agg(distinct requirement_set_id) filter (where requirement_set_id is not null)
  into locked, sets
  from (select id, requirement_set_id from tasks where id = any (ids) order by id for no key update skip locked) t;
  if is_offered then
    insert into work_queue (task_id, tenant_id, set_id, workspace_id, assignee_id, priority, created_at, turn_at, due_at)
    select t.id, t.tenant_id, set_in_queue(queue_set(t.id, t.is_addressed, t.requirement_set_id), t.assignee_id, d.due),
      t.workspace_id, t.assignee_id, t.priority, t.created_at, t.turn_at, d.due
    from tasks t cross join lateral (select case when t.available_at > clock_timestamp() then t.available_at end as due) d
    where t.id = any (locked) and t.category not in ('terminal_success', 'terminal_cancelled') and t.open_prerequisites = 0
      and t.pending_gates = 0 and t.open_verification_id is null and not t.lacks_input and t.active_claim_id is null
      and (t.category <> 'blocked' or is_claimable_blocked(t.type_id, t.status))
    on conflict (task_id) do nothing;
    perform note_queued_set(id) from unnest(sets) as needed (id)
    where exists (
      select from work_queue q where q.tenant_id = tenant and q.set_id in (needed.id, assigned_set(needed.id)));
  else
    delete from work_queue where task_id = any (locked);
    perform note_left_set(tenant, id) from unnest(sets) as needed (id);
  end if;
end $$;

-- Tasks that came due, although the worker has not moved their rows yet, which it does within a second or two. While it is
-- away they are the first thousand: a search that looked at more would take longer than all others together. No index is read by
-- a condition that calls the clock itself.
create function tasks_come_due(tenant uuid) returns setof uuid language plpgsql stable rows 10 as $$
declare
  at constant timestamptz := clock_timestamp();
begin
  return query select task_id from work_queue where tenant_id = tenant and due_at <= at order by due_at limit 1000;
end $$;

-- Moves rows of tasks that came due to where searches look, the first to come due first. How many there were. Tasks that others
-- have locked are left: whoever writes them corrects their row, or the next batch does.
create function queue_due_tasks(rows_max integer) returns integer language plpgsql as $$
declare
  at constant timestamptz := clock_timestamp();
  locked uuid[];
  moved record;
begin
  locked := array(
    select t.id from work_queue q join tasks t on t.id = q.task_id
    where q.due_at <= at order by q.due_at limit rows_max
    for no key update of t skip locked);
  for moved in
    update work_queue q
    set set_id = set_in_queue(queue_set(t.id, t.is_addressed, t.requirement_set_id), t.assignee_id, d.due), due_at = d.due
    from tasks t cross join lateral (select case when t.available_at > clock_timestamp() then t.available_at end as due) d
    where q.task_id = any (locked) and t.id = q.task_id
    returning t.requirement_set_id as required, q.set_id
  loop
    if moved.set_id in (moved.required, assigned_set(moved.required)) then
      perform note_queued_set(moved.required);
    end if;
  end loop;
  return cardinality(locked);
end $$;

-- The lock keeps the worker from a row that stands for this change, too, before its commit.
create function note_zone_change(tenant uuid) returns void language plpgsql as $$
begin
  perform from zone_changes where tenant_id = tenant and seen_xid is null for update;
  if not found then
    insert into zone_changes (tenant_id) values (tenant);
  end if;
end $$;

create function note_zone_of_workspace() returns trigger language plpgsql as $$
begin
  if old.calendar_key is distinct from new.calendar_key
    or exists (select from workspaces where tenant_id = new.tenant_id and calendar_key is not null) then
    perform note_zone_change(new.tenant_id);
  end if;
  return null;
end $$;
create trigger workspaces_note_zone after update of calendar_key, path on workspaces
  for each row when (old.calendar_key is distinct from new.calendar_key or old.path <> new.path)
  execute function note_zone_of_workspace();

create function note_zone_of_calendar() returns trigger language plpgsql as $$
begin
  if exists (select from workspaces where tenant_id = new.tenant_id and calendar_key = new.key)
    and (select spec ->> 'timezone' from calendar_versions where id = new.id)
      is distinct from (select spec ->> 'timezone' from calendar_versions where id = old.id) then
    perform note_zone_change(new.tenant_id);
  end if;
  return null;
end $$;
create trigger calendars_note_zone after update of id on calendars
  for each row when (old.id <> new.id) execute function note_zone_of_calendar();

-- Computes the starts of the tasks of one tenant whose zones changed, a batch of them. A zone moves midnight by a day at most.
-- How many there were; 0 while others may still write what they read before the change, too.
create function settle_zones(tasks_max integer) returns integer language plpgsql as $$
declare
  noted zone_changes;
  ids uuid[];
  last record;
begin
  select * into noted from zone_changes order by id limit 1 for update skip locked;
  if not found then return 0; end if;
  if noted.seen_xid is null then
    update zone_changes set seen_xid = pg_snapshot_xmax(pg_current_snapshot())::text::bigint where id = noted.id;
    return 1;
  end if;
  if pg_snapshot_xmin(pg_current_snapshot())::text::bigint < noted.seen_xid then return 0; end if;
  ids := array(
    select id from tasks
    where tenant_id = noted.tenant_id and coalesce(start_date, 'infinity') < 'infinity'
      and (coalesce(start_date, 'infinity'), id)
        > (coalesce(noted.after_start, now() - interval '2 days'), coalesce(noted.after_id, '00000000-0000-0000-0000-000000000000'))
    order by coalesce(start_date, 'infinity'), id limit tasks_max);
  perform from tasks where id = any (ids) order by id for no key update;
  update tasks t
  set starts_at = start_of_work(t.workspace_id, t.type_id, t.start_date), version = t.version + 1, updated_at = now()
  where t.id = any (ids) and t.category not like 'terminal%'
    and t.starts_at is distinct from start_of_work(t.workspace_id, t.type_id, t.start_date);
  if cardinality(ids) < tasks_max then
    delete from zone_changes where id = noted.id;
  else
    select start_date, id into last from tasks where id = ids[tasks_max];
    update zone_changes set after_start = last.start_date, after_id = last.id where id = noted.id;
  end if;
  return greatest(cardinality(ids), 1);
end $$;

-- Tasks that wait for an input don't stand in the queue of work: behind 4,000 of them every search of everybody took 554 ms
-- instead of 13, since each was judged (decision 0210).

-- Whether a required input is missing (core, section 7.4). Never true of a task that has all of them, since such a task would
-- not be handed out. The claim still judges by may_claim.
alter table tasks add column lacks_input boolean not null default false;

create function inputs_lock(source uuid) returns bigint language sql immutable as $$
  select hashtextextended('inputs_of/' || source, 0)
$$;

-- Locks tasks for a change of columns that others keep on them. It waits only while it holds none of them, as two completions
-- could else wait for each other (0008). After the last attempt it waits in the order of ids; what deadlocks then is repeated.
create function lock_together(wanted uuid[]) returns void language plpgsql as $$
declare
  tried uuid;
  busy uuid;
begin
  for attempt in 1..20 loop
    tried := null;
    begin
      if busy is not null then
        perform from tasks where id = busy for no key update;
      end if;
      foreach tried in array wanted loop
        perform from tasks where id = tried for no key update nowait;
      end loop;
      return;
    exception when lock_not_available then
      -- The lock timeout of the wait itself.
      if tried is null then
        raise;
      end if;
      busy := tried;
    end;
  end loop;
  perform from tasks where id = any (wanted) order by id for no key update;
end $$;

create or replace function settle_prerequisite() returns trigger language plpgsql as $$
declare
  waiting uuid[];
begin
  select array_agg(distinct waiting_task_id order by waiting_task_id) into waiting
  from task_relations where prerequisite_task_id = new.id;
  if waiting is null then
    return null;
  end if;
  perform lock_together(waiting);
  update tasks w
  set open_prerequisites = w.open_prerequisites
    + case when new.category = 'terminal_success' then -r.relations else r.relations end
  from (
    select waiting_task_id, count(*) as relations from task_relations
    where prerequisite_task_id = new.id group by waiting_task_id
  ) r
  where w.id = r.waiting_task_id and w.id = any (waiting);
  return null;
end $$;

-- Writes the column of tasks that are locked.
create function settle_inputs(locked uuid[]) returns void language plpgsql as $$
begin
  update tasks t set lacks_input = not t.lacks_input
  where t.id = any (locked) and t.lacks_input <> (missing_inputs(t.id) <> '[]');
end $$;

-- A new task has no relation yet.
create function note_inputs_of_new_task() returns trigger language plpgsql as $$
begin
  new.lacks_input := (select has_required_inputs(artifact_schema) from task_types where id = new.type_id);
  return new;
end $$;
create trigger tasks_note_inputs before insert on tasks
  for each row when (new.is_restricted) execute function note_inputs_of_new_task();

-- An artifact and a relation that makes its task a source of inputs come one after the other: the artifact shares a lock of
-- the source, the relation has it alone, and each looks for the other after that. The prerequisite's row is locked first, as
-- by a completion, which records artifacts under it.
create function lock_source_of_inputs() returns trigger language plpgsql as $$
declare
  source constant uuid := case new.type when 'blocks' then new.from_task_id else new.to_task_id end;
begin
  if new.type in ('blocks', 'depends_on') then
    perform from tasks where id = source for share;
  end if;
  perform pg_advisory_xact_lock(inputs_lock(source));
  return new;
end $$;
create trigger task_relations_lock_source before insert on task_relations
  for each row when (new.type <> 'related_to') execute function lock_source_of_inputs();

create function note_inputs_of_relation() returns trigger language plpgsql as $$
declare
  relation task_relations;
  receiver uuid;
begin
  if tg_op = 'INSERT' then relation := new; else relation := old; end if;
  -- Locked before its type is looked at: a migration of the type locks it too.
  select id into receiver from tasks
  where id = coalesce(relation.waiting_task_id, relation.from_task_id) for no key update;
  perform settle_inputs(array[receiver]) from tasks where id = receiver and is_restricted;
  return null;
end $$;
create trigger task_relations_note_inputs_added after insert on task_relations
  for each row when (new.type <> 'related_to') execute function note_inputs_of_relation();
create trigger task_relations_note_inputs_removed after delete on task_relations
  for each row when (old.type <> 'related_to') execute function note_inputs_of_relation();

-- Another type may ask for other inputs. The task is locked, so its sources can't be waited for: where somebody records an
-- artifact in one just now, or where there are more than two, of which a batch of 500 tasks would take too many locks, the
-- task stays in the queue and is judged there.
create function note_inputs_of_new_type() returns trigger language plpgsql as $$
declare
  sources uuid[];
begin
  sources := array(
    select r.to_task_id from task_relations r where r.from_task_id = new.id and r.type in ('parent', 'spawned_by')
    union select r.prerequisite_task_id from task_relations r where r.waiting_task_id = new.id
    limit 3);
  if not (select has_required_inputs(artifact_schema) from task_types where id = new.type_id)
    or cardinality(sources) > 2
    or exists (select from unnest(sources) s (id) where not pg_try_advisory_xact_lock(inputs_lock(s.id))) then
    update tasks set lacks_input = false where id = new.id and lacks_input;
  else
    perform settle_inputs(array[new.id]);
  end if;
  return null;
end $$;
create trigger tasks_note_inputs_of_type after update of type_id on tasks
  for each row when (old.type_id <> new.type_id) execute function note_inputs_of_new_type();

-- A new artifact is somebody's input, and replaces the one that it supersedes, which is of the same task; a purged one is none.
-- All tasks that ask for such an artifact are locked, also those to which it makes no difference as yet: a relation that
-- another command is taking from one would.
create function note_inputs_of_artifact() returns trigger language plpgsql as $$
declare
  types text[];
  receivers uuid[];
begin
  perform pg_advisory_xact_lock_shared(inputs_lock(new.task_id));
  types := array[new.type] || array(select type from artifacts where id = new.supersedes_artifact_id);
  receivers := array(
    select distinct t.id
    from (
      select waiting_task_id as id, 'depends_on' as way from task_relations where prerequisite_task_id = new.task_id
      union
      select from_task_id, type from task_relations where to_task_id = new.task_id and type in ('parent', 'spawned_by')
    ) r
    join tasks t on t.id = r.id and t.is_restricted join task_types tt on tt.id = t.type_id
    where jsonb_path_exists(tt.artifact_schema,
      '$.inputs[*] ? (@.required == true && @.from == $way && @.type == $types[*])',
      jsonb_build_object('way', r.way, 'types', to_jsonb(types)))
    order by t.id);
  if receivers <> '{}' then
    perform lock_together(receivers);
    perform settle_inputs(receivers);
  end if;
  return null;
end $$;
create trigger artifacts_note_inputs_added after insert on artifacts
  for each row when (new.task_id is not null) execute function note_inputs_of_artifact();
create trigger artifacts_note_inputs_purged after update of content_state on artifacts
  for each row when (new.task_id is not null and new.content_state = 'purged') execute function note_inputs_of_artifact();

-- Keeps the row of a task, as in 0028, and leaves out the tasks that lack an input.
create or replace function queue_task() returns trigger language plpgsql as $$
declare
  required constant uuid := coalesce(new.requirement_set_id, '00000000-0000-0000-0000-000000000000');
begin
  if new.category in ('terminal_success', 'terminal_cancelled') or new.open_prerequisites > 0 or new.pending_gates > 0
    or new.open_verification_id is not null or new.lacks_input then
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
drop trigger tasks_queue_changed on tasks;
-- A claim sets active_claim_id and category, and passes the condition by: it changes nothing here.
create trigger tasks_queue_changed after update of category, open_prerequisites, pending_gates, open_verification_id,
  priority, assignee_id, workspace_id, requirement_set_id, turn_at, active_claim_id, lacks_input on tasks
  for each row when (
    (old.active_claim_id is not null and new.active_claim_id is null)
    or (old.category like 'terminal%') <> (new.category like 'terminal%')
    or (old.open_prerequisites = 0) <> (new.open_prerequisites = 0)
    or (old.pending_gates = 0) <> (new.pending_gates = 0)
    or (old.open_verification_id is null) <> (new.open_verification_id is null)
    or old.lacks_input <> new.lacks_input
    or old.priority <> new.priority
    or old.turn_at <> new.turn_at
    or old.assignee_id is distinct from new.assignee_id
    or old.workspace_id is distinct from new.workspace_id
    or old.requirement_set_id is distinct from new.requirement_set_id)
  execute function queue_task();

update tasks t set lacks_input = true
from task_types tt
where tt.id = t.type_id and t.is_restricted and has_required_inputs(tt.artifact_schema) and missing_inputs(t.id) <> '[]';

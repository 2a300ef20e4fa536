-- The artifacts that a task takes from other tasks (core, sections 7.4 and 9).

-- The newest artifacts of a type of a task, past all the others that it has.
create index artifacts_as_inputs on artifacts (tenant_id, task_id, type, created_at, id) where content_state <> 'purged';

-- For each input that a task's type declares, and each task that it comes from, the newest artifact there that no other one
-- supersedes and whose bytes were not purged; null where there is none.
create function task_inputs(task uuid)
returns table (place integer, key text, type text, source text, required boolean, source_task_id uuid, artifact_id uuid)
language sql stable as $$
  select declared.n::integer, declared.input ->> 'key', declared.input ->> 'type', declared.input ->> 'from',
    coalesce((declared.input ->> 'required')::boolean, false), found.task_id, found.id
  from tasks t join task_types tt on tt.id = t.type_id
  cross join lateral jsonb_array_elements(coalesce(tt.artifact_schema -> 'inputs', '[]')) with ordinality as declared (input, n)
  left join lateral (
    select s.id as task_id, newest.id
    from (
      select r.prerequisite_task_id as id from task_relations r
      where declared.input ->> 'from' = 'depends_on' and r.waiting_task_id = t.id
      union
      select r.to_task_id from task_relations r
      where r.from_task_id = t.id and r.type = declared.input ->> 'from' and r.type in ('spawned_by', 'parent')
    ) s
    cross join lateral (
      select a.id from artifacts a
      where a.tenant_id = t.tenant_id and a.task_id = s.id and a.type = declared.input ->> 'type'
        and a.content_state <> 'purged'
        and not exists (select from artifacts later where later.supersedes_artifact_id = a.id)
      order by a.created_at desc, a.id desc limit 1
    ) newest
  ) found on true
  where t.id = task
$$;

-- The required inputs of a task for which there is no artifact: [{key, type, from}] in the order of their declaration.
create function missing_inputs(task uuid) returns jsonb language sql stable as $$
  select coalesce(jsonb_agg(jsonb_build_object('key', key, 'type', type, 'from', source) order by place), '[]')
  from (
    select i.place, i.key, i.type, i.source from task_inputs(task) i where i.required
    group by i.place, i.key, i.type, i.source having count(i.artifact_id) = 0
  ) absent
$$;

-- Whether a principal fulfils the requirements of a task, and every required input is there. A task that is restricted by
-- neither is nobody's.
create or replace function may_claim(task uuid, principal uuid) returns boolean language plpgsql stable as $$
begin
  return exists (
    select from tasks t join task_types tt on tt.id = t.type_id
    where t.id = task and (t.requirement_set_id is not null or has_required_inputs(tt.artifact_schema))
      and (t.requirement_set_id is null or not exists (
        select from missing_items(t.tenant_id, t.requirement_set_id, principal)))
      and (not has_required_inputs(tt.artifact_schema) or missing_inputs(t.id) = '[]'));
end $$;

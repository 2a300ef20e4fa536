-- What 0098 says, of the tasks that there are: in a transaction of its own, so that its locks of the tables are short.

-- The type that the core brings; other versions keep what they were published with.
update task_types
set holds_start = true,
  execution = coalesce(execution, '{}') || '{"retry": {"backoffSeconds": 60, "maxBackoffSeconds": 3600}, "startDateHolds": true}'
where key = 'task' and version = 1;

-- No workspace has a calendar yet. The triggers write available_at and the queue.
update tasks t set starts_at = t.start_date
from tenants tn cross join lateral (
  select id from tasks
  where tenant_id = tn.id and coalesce(start_date, 'infinity') > now() and coalesce(start_date, 'infinity') < 'infinity') later
where t.id = later.id and t.category not like 'terminal%'
  and exists (select from task_types tt where tt.id = t.type_id and tt.holds_start);

-- Rows that a process has written since 0098 are under these sets already.
update work_queue q set set_id = assigned_set(q.set_id)
from tasks t
where t.id = q.task_id and q.assignee_id is not null and q.due_at is null
  and q.set_id = queue_set(t.id, t.is_addressed, t.requirement_set_id);

-- Locked, so that a move out of a blocked status is either seen or queues the task afterwards.
with blocked as materialized (
  select id from tasks where category = 'blocked' order by id for no key update
)
delete from work_queue q using blocked b where q.task_id = b.id;

-- Perhaps the last row of their sets left the queue; the worker looks at each.
insert into left_sets (tenant_id, set_id)
select distinct t.tenant_id, t.requirement_set_id from tasks t
where t.category = 'blocked' and t.requirement_set_id is not null
  and exists (select from queued_requirements i where i.set_id = t.requirement_set_id);

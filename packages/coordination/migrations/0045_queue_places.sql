-- The queue by places, as tasks_of_place: a person who sees a part of the tree finds its work without the rest of the queue.
create index work_queue_of_place on work_queue (coalesce(workspace_id, tenant_id), set_id, priority, created_at, task_id);
drop index work_queue_in_workspace;

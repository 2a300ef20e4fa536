-- Lists of persons who see a part of the tree (organisation, section 1.5) are read from what each of them sees. A row's place
-- is its workspace, or the tenant itself where it is filed in none.
create index tasks_of_place on tasks (coalesce(workspace_id, tenant_id), created_at desc, id desc);
drop index tasks_of_workspace;
create index goals_of_place on goals (coalesce(workspace_id, tenant_id), created_at desc, id desc);
create index roles_of_place on roles (coalesce(workspace_id, tenant_id), created_at desc, id desc);
-- What hangs on a task is found by the task.
create index approvals_of_place on approvals (coalesce(workspace_id, tenant_id), created_at desc, id desc)
  where task_id is null;
create index artifacts_of_place on artifacts (coalesce(workspace_id, tenant_id), created_at desc, id desc)
  where task_id is null;

-- Entries that wait to be sorted into the index are read by every search: up to 4 MB of them, after many changes of the tree.
alter index workspaces_below set (fastupdate = off);
alter index goals_below set (fastupdate = off);
select gin_clean_pending_list('workspaces_below'), gin_clean_pending_list('goals_below');

-- What a person sees of the tree of workspaces (organisation, section 1.5): with `members`, own workspaces and those below.
alter table iam_bindings
  add column visibility text not null default 'tenant' check (visibility in ('tenant', 'members'));

-- Whether a person sees what is filed in a workspace. No viewer sees everything, and everybody sees what is filed in none.
create function sees_workspace(viewer uuid, workspace uuid) returns boolean language plpgsql stable as $$
begin
  if viewer is null or workspace is null then return true; end if;
  return exists (
    select from workspaces w join workspace_members m on m.workspace_id = any (w.path)
    where w.id = workspace and m.principal_id = viewer);
end $$;

-- The same for what hangs on a task.
create function sees_task(viewer uuid, task uuid) returns boolean language plpgsql stable as $$
begin
  return viewer is null or sees_workspace(viewer, (select workspace_id from tasks where id = task));
end $$;

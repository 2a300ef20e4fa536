-- Where an agent works, and on which types: `work` of its current spec (organisation, section 12.1), read for the lists of
-- executors without the whole spec. Null for one whose spec says nothing of work.
alter table agents add column work jsonb;
update agents a
set work = r.spec -> 'work'
from agent_revisions r
where r.agent_id = a.id and r.revision = a.current_revision;

-- The agents that work on tasks of a type in a workspace (core, section 7.2): they run, are linked to an identity, and their
-- work covers the place and the type. What one's work names must all hold: the workspace alone, its project with or without
-- the projects below it.
-- @param place the workspace, place_path its id and those of the workspaces above it, place_project its project
-- @param viewer who sees only their own workspaces, and the agents of these; null sees all
create function agents_at_work(tenant uuid, place uuid, place_path uuid[], place_project uuid, type_key text, viewer uuid)
returns table (principal_id uuid, names_type boolean)
language sql stable
as $$
  select a.principal_id, a.work -> 'taskTypes' ? type_key
  from agents a join iam_bindings b on b.id = a.binding_id
  where a.tenant_id = tenant and a.status = 'active' and a.state = 'running' and b.status = 'active'
    and a.work is not null
    and (coalesce(a.work -> 'taskTypes', '[]') = '[]' or a.work -> 'taskTypes' ? type_key)
    and (not a.work ? 'workspace' or a.workspace_id = place)
    and (not a.work ? 'project' or exists (
      select from projects p
      where p.id = (a.work ->> 'project')::uuid and p.tenant_id = tenant and p.workspace_id = any (place_path)
        and (p.id = place_project or (a.work -> 'includeSubprojects')::boolean)))
    and (viewer is null or a.workspace_id is null or sees_workspace(viewer, a.workspace_id))
$$;

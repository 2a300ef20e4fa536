-- Whom a task of a process step is for (organisation, section 15): only they claim it, change what the step reads of it, and
-- complete it. A row of its own, so that the wide rows of other tasks stay as they are; `tasks.is_addressed` says that there is one.
-- With neither a principal, an agent nor a role, the step named somebody who does not exist: then nobody is the addressee.
create table task_addressees (
  task_id uuid primary key references tasks,
  tenant_id uuid not null references tenants,
  principal_id uuid references principals,
  -- Whichever principal is linked to the agent when it is asked.
  agent_key text,
  role_id uuid references roles,
  check (num_nonnulls(principal_id, agent_key, role_id) <= 1)
);
alter table tasks add column is_addressed boolean not null default false;

-- Whether a principal is whom an addressed task is for. A role counts where the task is, as in requirements.
create function is_addressee(task uuid, principal uuid) returns boolean
language plpgsql stable
as $$
begin
  return exists (
    select from task_addressees d join tasks t on t.id = d.task_id
    where d.task_id = task and (
      d.principal_id = principal
      or d.agent_key is not null and exists (
        select from agents a join iam_bindings b on b.id = a.binding_id
        where a.tenant_id = d.tenant_id and a.key = d.agent_key and a.status = 'active' and b.status = 'active'
          and a.principal_id = principal)
      or d.role_id is not null and exists (
        select from role_assignments r
        where r.tenant_id = d.tenant_id and r.principal_id = principal and r.role_id = d.role_id
          and (r.workspace_id is null or r.workspace_id = any (
            select unnest(w.path) from workspaces w where w.id = t.workspace_id)))));
end $$;

-- Tasks that steps wait for already: for their assignee, else for the role that they require.
with waiting as (
  select distinct on (t.id) t.id, t.tenant_id, t.assignee_id, item.subject_id as role_id
  from process_instances i
  cross join lateral jsonb_each(i.state -> 'nodes') as node (id, value)
  join tasks t on t.id = (node.value ->> 'taskId')::uuid and t.tenant_id = i.tenant_id
  left join requirement_items item on item.set_id = t.requirement_set_id and item.kind = 'role'
  where i.status in ('running', 'suspended') and (t.assignee_id is not null or item.subject_id is not null)
  order by t.id, item.position
), addressed as (
  insert into task_addressees (task_id, tenant_id, principal_id, role_id)
  select id, tenant_id, assignee_id, case when assignee_id is null then role_id end from waiting
  returning task_id
)
update tasks t set is_addressed = true from addressed where t.id = addressed.task_id;

-- What a task asks of whoever claims it (core, section 8.11; organisation, section 9.3). Tasks that ask for the same share one
-- set, and a set never changes: which sets somebody fulfils is found without looking at tasks.

create table requirement_sets (
  id uuid primary key,
  tenant_id uuid not null references tenants,
  -- of a set with roles that of its tasks, since roles are held in workspaces; of others null
  workspace_id uuid references workspaces,
  -- names the workspace and the items in one order, so that the same requirements find the set again
  digest text not null,
  items integer not null check (items between 1 and 150),
  created_at timestamptz(3) not null default now(),
  unique (tenant_id, digest)
);

create table requirement_items (
  set_id uuid not null references requirement_sets,
  tenant_id uuid not null references tenants,
  position smallint not null,
  kind text not null check (kind in ('role', 'capability', 'skill')),
  -- the id of the role, capability or skill; of a skill in any version that of the one that was found
  subject_id uuid not null,
  -- of a skill that is asked for in any version its name
  any_version_of text,
  -- what somebody must hold (held_tokens)
  token text not null generated always as (
    case when any_version_of is null then kind || '/' || subject_id::text else 'skills/' || any_version_of end) stored,
  primary key (set_id, position)
);
create index requirement_items_by_token on requirement_items (tenant_id, token, set_id);

-- Everything that somebody can meet requirements with, and where it counts: below that workspace, everywhere when null.
create function held_tokens(tenant uuid, principal uuid) returns table (token text, workspace_id uuid)
language sql stable as $$
  select 'role/' || a.role_id::text, a.workspace_id from role_assignments a
  where a.principal_id = principal and a.tenant_id = tenant
  union all
  select 'capability/' || a.capability_id::text, null from capability_assignments a
  where a.principal_id = principal and a.tenant_id = tenant
  union all
  select held.token, null
  from skill_assignments a join skills s on s.id = a.skill_id and s.status <> 'disabled'
  cross join lateral (values ('skill/' || s.id::text), ('skills/' || s.name)) held (token)
  where a.principal_id = principal and a.tenant_id = tenant
$$;

-- The items of a set that somebody lacks.
create function missing_items(tenant uuid, requirements uuid, principal uuid) returns setof smallint
language sql stable as $$
  select i.position
  from requirement_items i join requirement_sets s on s.id = i.set_id left join workspaces w on w.id = s.workspace_id
  where i.set_id = requirements and not exists (
    select from held_tokens(tenant, principal) h
    where h.token = i.token and (h.workspace_id is null or h.workspace_id = any (w.path)))
$$;

alter table tasks add column requirement_set_id uuid references requirement_sets;

-- Whether tasks of a type with this artifactSchema need artifacts before they can be claimed.
create function has_required_inputs(artifact_schema jsonb) returns boolean language sql immutable as $$
  select coalesce(jsonb_path_exists(artifact_schema, '$.inputs[*] ? (@.required == true)'), false)
$$;

-- Whether a principal fulfils the requirements of a task. A task that is restricted by anything else is nobody's as yet.
create or replace function may_claim(task uuid, principal uuid) returns boolean language plpgsql stable as $$
begin
  return exists (
    select from tasks t join task_types tt on tt.id = t.type_id
    where t.id = task and t.requirement_set_id is not null and not has_required_inputs(tt.artifact_schema)
      and not exists (select from missing_items(t.tenant_id, t.requirement_set_id, principal)));
end $$;

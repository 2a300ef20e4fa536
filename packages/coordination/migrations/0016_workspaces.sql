-- Workspaces: a tree in each tenant, with types that say what may stand below what (organisation, sections 2 and 3).

create table workspace_types (
  id uuid primary key,
  tenant_id uuid not null references tenants,
  key text not null,
  display_name text not null,
  description text not null default '',
  field_schema jsonb not null default '{}',
  -- Keys of types, or * for any.
  allowed_child_types text[] not null default '{*}',
  is_system boolean not null default false,
  status text not null default 'active' check (status in ('active', 'archived')),
  version integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  unique (tenant_id, key)
);
create unique index workspace_types_system on workspace_types (tenant_id) where is_system;
create index workspace_types_newest on workspace_types (tenant_id, created_at desc, id desc);
create index workspace_types_of_status on workspace_types (tenant_id, status, created_at desc, id desc);

create table workspaces (
  id uuid primary key,
  tenant_id uuid not null references tenants,
  parent_id uuid references workspaces,
  -- The ids from the root to the workspace itself, kept by create and move: "ancestor or self of w" is id = any (path of
  -- w), "w or below" is path @> array[w], each by one index.
  path uuid[] not null check (cardinality(path) between 1 and 64 and path[cardinality(path)] = id),
  type_id uuid not null references workspace_types,
  slug text collate "C" not null,
  name text not null,
  description text not null default '',
  custom_fields jsonb not null default '{}',
  -- null takes the list of the nearest ancestor that has one
  task_types text[],
  status text not null default 'active' check (status in ('active', 'archived')),
  version integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);
create unique index workspaces_siblings on workspaces (tenant_id, parent_id, slug) nulls not distinct;
create index workspaces_below on workspaces using gin (path);
create index workspaces_newest on workspaces (tenant_id, created_at desc, id desc);
create index workspaces_of_parent on workspaces (tenant_id, parent_id, created_at desc, id desc);
create index workspaces_of_status on workspaces (tenant_id, status, created_at desc, id desc);
create index workspaces_of_type on workspaces (type_id) where status = 'active';

create table workspace_members (
  id uuid primary key,
  tenant_id uuid not null references tenants,
  workspace_id uuid not null references workspaces,
  principal_id uuid not null references principals,
  created_at timestamptz(3) not null default now(),
  unique (workspace_id, principal_id)
);
create index workspace_members_newest on workspace_members (workspace_id, created_at desc, id desc);
create index workspace_members_of_principal on workspace_members (principal_id);

-- The type that every tenant has from the beginning.
insert into workspace_types (id, tenant_id, key, display_name, is_system)
select gen_random_uuid(), id, 'generic', 'Generic', true from tenants;

-- Tasks by their workspace; of most tenants no task is in one.
create index tasks_of_workspace on tasks (tenant_id, workspace_id, created_at desc, id desc)
  where workspace_id is not null;
create index tasks_available_in on tasks (tenant_id, workspace_id, priority, created_at, id)
  where category in ('backlog', 'active', 'blocked') and open_prerequisites = 0 and pending_gates = 0
    and open_verification_id is null and workspace_id is not null;

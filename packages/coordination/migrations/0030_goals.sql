-- Goals: what a state of the world should be, and by what one sees that it is (organisation, section 7).
create table goals (
  id uuid primary key,
  tenant_id uuid not null references tenants,
  workspace_id uuid references workspaces,
  title text not null,
  desired_state text not null default '',
  criteria jsonb not null default '[]',
  owner_id uuid references principals,
  status text not null default 'active' check (status in ('active', 'achieved', 'abandoned')),
  created_from jsonb not null,
  parent_goal_id uuid references goals,
  -- The ids from the topmost goal to the goal itself, as of workspaces.
  path uuid[] not null check (cardinality(path) between 1 and 32 and path[cardinality(path)] = id),
  version integer not null default 1,
  created_by uuid not null references principals,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  closed_at timestamptz(3),
  check ((status = 'active') = (closed_at is null))
);
create index goals_below on goals using gin (path);
create index goals_newest on goals (tenant_id, created_at desc, id desc);
create index goals_of_status on goals (tenant_id, status, created_at desc, id desc);
create index goals_of_workspace on goals (tenant_id, workspace_id, created_at desc, id desc)
  where workspace_id is not null;
create index goals_of_owner on goals (tenant_id, owner_id, created_at desc, id desc) where owner_id is not null;
create index goals_of_parent on goals (tenant_id, parent_goal_id, created_at desc, id desc)
  where parent_goal_id is not null;

-- The work of a goal; most tasks have none.
create index tasks_of_goal on tasks (tenant_id, goal_id, created_at desc, id desc) where goal_id is not null;

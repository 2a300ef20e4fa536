-- Agents of the registry (organisation, section 12): what each is, in revisions that never change, and as which principal
-- it acts. A key is never given again, so nothing is deleted.
create table agents (
  id uuid primary key,
  tenant_id uuid not null references tenants,
  key text not null,
  kind text not null check (kind in ('agent', 'service')),
  display_name text not null,
  status text not null default 'active' check (status in ('active', 'retired')),
  state text not null check (state in ('running', 'stopped')),
  replicas integer not null,
  current_revision integer not null,
  -- Once an identity is linked, the principal stays the same; the binding is that of the identity it has now.
  principal_id uuid unique references principals,
  binding_id uuid references iam_bindings,
  workspace_id uuid references workspaces,
  retired_at timestamptz(3),
  retired_by uuid references principals,
  retired_reason text,
  version integer not null default 1,
  created_by uuid not null references principals,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  unique (tenant_id, key),
  check ((principal_id is null) = (binding_id is null)),
  check ((status = 'retired') = (retired_at is not null))
);
create index agents_newest on agents (tenant_id, created_at desc, id desc);
create index agents_of_status on agents (tenant_id, status, created_at desc, id desc);
create index agents_of_state on agents (tenant_id, state, created_at desc, id desc);
create index agents_of_workspace on agents (workspace_id, created_at desc, id desc) where workspace_id is not null;
create index agents_of_place on agents ((coalesce(workspace_id, tenant_id)), created_at desc, id desc);

create table agent_revisions (
  id uuid primary key,
  tenant_id uuid not null references tenants,
  agent_id uuid not null references agents,
  revision integer not null,
  spec jsonb not null,
  spec_hash text not null,
  -- What the spec names, by id: a role keeps its id when its slug is changed.
  grants jsonb not null,
  changed_fields text[],
  spec_bytes integer not null,
  created_by uuid not null references principals,
  created_at timestamptz(3) not null default now(),
  unique (agent_id, revision)
);

-- The agent that a principal is, for good: its credentials are read together with it.
alter table principals add column agent_id uuid references agents;

-- The last report about each agent; of two reports the later observation counts, whichever comes last.
create table agent_statuses (
  agent_id uuid primary key references agents,
  tenant_id uuid not null references tenants,
  phase text not null,
  reason jsonb,
  observed_revision integer,
  node text,
  instances jsonb not null,
  observed_at timestamptz(3) not null,
  reported_at timestamptz(3) not null default now(),
  reported_by uuid not null references principals
);

-- A workspace that an agent's spec names by its slug. Not in the order of slugs: the planner took such an index to list the few
-- workspaces below one in their order, and read all of the tenant.
create index workspaces_of_slug on workspaces using hash ((tenant_id::text || slug));

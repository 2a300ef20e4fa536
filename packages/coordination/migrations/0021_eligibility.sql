-- Roles, capabilities and skills, and who has them (organisation, sections 9 and 10). They give no permission: they decide
-- who may claim a task and who may answer an approval.

create table roles (
  id uuid primary key,
  tenant_id uuid not null references tenants,
  -- null: a role of the whole tenant
  workspace_id uuid references workspaces,
  slug text not null,
  name text not null,
  description text not null default '',
  version integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);
create unique index roles_slug on roles (tenant_id, workspace_id, slug) nulls not distinct;
create index roles_newest on roles (tenant_id, created_at desc, id desc);
create index roles_of_workspace on roles (workspace_id, created_at desc, id desc) where workspace_id is not null;

create table capabilities (
  id uuid primary key,
  tenant_id uuid not null references tenants,
  name text not null,
  description text not null default '',
  version integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  unique (tenant_id, name)
);
create index capabilities_newest on capabilities (tenant_id, created_at desc, id desc);

create table skills (
  id uuid primary key,
  tenant_id uuid not null references tenants,
  name text not null,
  version text not null,
  description text not null default '',
  protocol text not null check (protocol in ('mcp', 'http', 'local', 'opencode', 'custom')),
  config jsonb not null default '{}',
  input_schema jsonb,
  output_schema jsonb,
  side_effects text check (side_effects in ('none', 'external_read', 'external_write')),
  risk_level text check (risk_level in ('low', 'medium', 'high')),
  contract jsonb,
  status text not null default 'active' check (status in ('active', 'deprecated', 'disabled')),
  row_version integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  unique (tenant_id, name, version)
);
create index skills_newest on skills (tenant_id, created_at desc, id desc);
create index skills_of_status on skills (tenant_id, status, created_at desc, id desc);
create index skills_of_name on skills (tenant_id, name, created_at desc, id desc);

create table role_assignments (
  id uuid primary key,
  tenant_id uuid not null references tenants,
  principal_id uuid not null references principals,
  role_id uuid not null references roles,
  -- null: held in the whole tenant; else in this workspace and below it
  workspace_id uuid references workspaces,
  created_at timestamptz(3) not null default now()
);
create unique index role_assignments_once on role_assignments (principal_id, role_id, workspace_id) nulls not distinct;
create index role_assignments_newest on role_assignments (principal_id, created_at desc, id desc);
create index role_assignments_of_role on role_assignments (role_id, principal_id);
create index role_assignments_in_workspace on role_assignments (workspace_id, principal_id) where workspace_id is not null;

create table capability_assignments (
  id uuid primary key,
  tenant_id uuid not null references tenants,
  principal_id uuid not null references principals,
  capability_id uuid not null references capabilities,
  metadata jsonb not null default '{}',
  created_at timestamptz(3) not null default now(),
  unique (principal_id, capability_id)
);
create index capability_assignments_newest on capability_assignments (principal_id, created_at desc, id desc);
create index capability_assignments_of_capability on capability_assignments (capability_id);

create table skill_assignments (
  id uuid primary key,
  tenant_id uuid not null references tenants,
  principal_id uuid not null references principals,
  skill_id uuid not null references skills,
  metadata jsonb not null default '{}',
  created_at timestamptz(3) not null default now(),
  unique (principal_id, skill_id)
);
create index skill_assignments_newest on skill_assignments (principal_id, created_at desc, id desc);
create index skill_assignments_of_skill on skill_assignments (skill_id);

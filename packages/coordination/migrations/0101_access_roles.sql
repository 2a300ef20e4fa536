-- Access roles: named lists of permissions that IAM bindings may name. Presets (viewer, member, lead, operator, administrator) are
-- part of the program and have no row; a later preset needs a migration that renames the roles that have its key by then.
create table access_roles (
  id uuid primary key,
  tenant_id uuid not null references tenants (id),
  key text not null,
  name text not null,
  description text not null default '',
  permissions text[] not null,
  version integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  unique (tenant_id, key),
  check (key not in ('viewer', 'member', 'lead', 'operator', 'administrator'))
);

-- `permissions` of a binding stays the effective list, so that everything that reads it is unaffected by roles; whoever changes a
-- role changes the bindings that name it in the same transaction.
alter table iam_bindings add column access_role text;
create index iam_bindings_of_access_role on iam_bindings (tenant_id, access_role, principal_id) where access_role is not null;

-- Administrators of a bootstrap have every permission by name, with `admin`: they follow the preset from now on. The worker adds
-- the permissions of later versions.
update iam_bindings b set access_role = 'administrator'
from principals p
where p.id = b.principal_id and p.kind = 'human' and b.status <> 'revoked' and b.permissions @> array[
  'admin', 'agents.manage', 'agents.read', 'agents.secrets.manage', 'agents.status.write', 'approvals.decide',
  'approvals.manage', 'approvals.read', 'artifact_types.manage', 'artifact_types.read', 'artifacts.read', 'artifacts.write',
  'calendars.write', 'claims.manage', 'connections.manage', 'connections.read', 'connections.status.write',
  'delegations.manage', 'events.export', 'events.read', 'goals.read', 'goals.write', 'knowledge.packs.manage',
  'observations.write', 'operations.manage', 'operations.read', 'org.manage', 'org.read', 'packages.plan',
  'packages.settings.manage', 'packages.settings.read', 'packages.test', 'principals.read', 'principals.write',
  'processes.operate', 'processes.read', 'processes.write', 'project_templates.manage', 'project_templates.read',
  'projects.manage', 'projects.read', 'rules.read', 'rules.write', 'sessions.manage', 'sessions.open', 'skills.execute',
  'skills.invoke', 'task_types.manage', 'task_types.read', 'tasks.claim', 'tasks.read', 'tasks.write', 'workspaces.manage',
  'workspaces.read'];

-- Approvals (core, section 14): a person says yes or no, and until then a gate holds its task back.
create domain approval_status as text check (value in ('pending', 'approved', 'rejected', 'cancelled'));
create domain outcome_status as text check (value in ('pending', 'deferred', 'executed', 'failed'));

create table approvals (
  id uuid primary key,
  tenant_id uuid not null references tenants,
  workspace_id uuid,
  task_id uuid references tasks,
  artifact_id uuid,
  requested_by_principal_id uuid not null references principals,
  status approval_status not null default 'pending',
  gate boolean not null,
  required_role_id uuid,
  assigned_principal_id uuid references principals,
  excluded_principals uuid[] not null default '{}' check (cardinality(excluded_principals) <= 100),
  -- What the requester says.
  comment text not null default '',
  decision_by_principal_id uuid references principals,
  decision_at timestamptz(3),
  decision_comment text,
  outcome_status outcome_status,
  version integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  check ((required_role_id is null) <> (assigned_principal_id is null)),
  check (not gate or task_id is not null),
  check ((status in ('approved', 'rejected')) = (decision_at is not null)),
  check ((decision_at is null) = (decision_by_principal_id is null))
);
create index approvals_newest on approvals (tenant_id, created_at desc, id desc);
create index approvals_by_status on approvals (tenant_id, status, created_at desc, id desc);
create index approvals_of_task on approvals (task_id, created_at desc, id desc) where task_id is not null;
-- What holds a task back, and what a person has to decide.
create index approvals_pending_gates on approvals (task_id, created_at, id) where gate and status = 'pending';
create index approvals_to_decide on approvals (assigned_principal_id, created_at desc, id desc)
  where status = 'pending' and assigned_principal_id is not null;
create index approvals_to_decide_by_role on approvals (required_role_id, created_at desc, id desc)
  where status = 'pending' and required_role_id is not null;

-- The principal in whose name the core itself writes, such as the work that a failed outcome makes. One for each tenant.
alter table tenants add column core_principal_id uuid references principals;
with made as (
  insert into principals (id, tenant_id, kind, display_name)
  select gen_random_uuid(), id, 'service', 'Baton' from tenants
  returning id, tenant_id
)
update tenants set core_principal_id = made.id from made where made.tenant_id = tenants.id;
alter table tenants alter column core_principal_id set not null;

-- The gates that hold a task back, the oldest first: as many as a refusal names.
create function pending_gates_of(task uuid) returns jsonb language sql stable as $$
  select coalesce(jsonb_agg(gates.id order by gates.created_at, gates.id), '[]')
  from (
    select id, created_at from approvals a where a.task_id = task and a.gate and a.status = 'pending'
    order by created_at, id limit 50
  ) gates
$$;
